package cli

import (
	"context"
	"os"

	"golang.org/x/term"
)

// Terminal says which streams are a terminal, and how wide it is.
type Terminal struct {
	In, Out, Err bool
	Name         string // of the device of In, such as /dev/pts/3; "" if it is unknown
	Width        int    // columns; 0 is unlimited
	Height       int    // rows; 0 is unlimited
	// Page runs a pager on the terminal and gives it a text; nil: there is no pager.
	Page func(ctx context.Context, argv []string, text string) error
}

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

// Console interacts with a user at the terminal of this process.
type Console struct {
	// Password prompts for a password on the terminal, without an echo; nil: there is no terminal.
	Password func(prompt string) (string, error)
	// Interrupts receives the signals of the user until the returned function is called, for a command
	// that first stops gently; nil: signals cancel the context.
	Interrupts func() (<-chan struct{}, func())
	// Interactive runs a program on the terminal: an editor; nil: there is none.
	Interactive func(ctx context.Context, argv []string) error
}
