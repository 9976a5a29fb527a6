package cli

import (
	"os"

	"golang.org/x/term"
)

// TerminalOf asks what the streams of a process are.
func TerminalOf(in, out, err *os.File) Terminal {
	t := Terminal{In: term.IsTerminal(int(in.Fd())), Out: term.IsTerminal(int(out.Fd())), Err: term.IsTerminal(int(err.Fd()))}
	if t.In {
		t.Name, _ = os.Readlink("/proc/self/fd/0")
	}
	if t.Out {
		t.Width, _, _ = term.GetSize(int(out.Fd()))
	}
	return t
}
