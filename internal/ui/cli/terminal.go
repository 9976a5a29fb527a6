package cli

import (
	"context"
	"os"

	"golang.org/x/term"
)

// TerminalOf tells which streams of a process are a terminal. page runs a pager.
func TerminalOf(in, out, err *os.File, page func(ctx context.Context, argv []string, text string) error) Terminal {
	t := Terminal{In: term.IsTerminal(int(in.Fd())), Out: term.IsTerminal(int(out.Fd())),
		Err: term.IsTerminal(int(err.Fd()))}
	if t.In {
		t.Name, _ = os.Readlink("/proc/self/fd/0")
	}
	if t.Out {
		t.Width, t.Height, _ = term.GetSize(int(out.Fd()))
	}
	if t.In && t.Out {
		t.Page = page
	}
	return t
}
