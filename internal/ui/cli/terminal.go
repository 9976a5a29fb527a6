package cli

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"
)

// TerminalOf asks what the streams of a process are.
func TerminalOf(in, out, err *os.File) Terminal {
	t := Terminal{In: term.IsTerminal(int(in.Fd())), Out: term.IsTerminal(int(out.Fd())), Err: term.IsTerminal(int(err.Fd()))}
	if t.In {
		t.Name, _ = os.Readlink("/proc/self/fd/0")
	}
	if t.Out {
		t.Width, t.Height, _ = term.GetSize(int(out.Fd()))
	}
	if t.In && t.Out {
		t.Page = func(ctx context.Context, argv []string, text string) error { return page(ctx, out, argv, text) }
	}
	return t
}

// page runs a pager. Unless the user has set LESS, less keeps colours, ends at once if the text
// fits, and leaves the text on the screen. A pager of root must not start other programs.
func page(ctx context.Context, out *os.File, argv []string, text string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), out, os.Stderr
	c.Env = append(os.Environ(), "LESSSECURE=1")
	if os.Getenv("LESS") == "" {
		c.Env = append(c.Env, "LESS=FRX")
	}
	return c.Run()
}
