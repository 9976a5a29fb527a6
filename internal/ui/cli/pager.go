package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/executor"
)

// Paged runs a function that prints to Stdout. On a terminal, output that is longer than the screen
// opens in a pager.
func (s *Printer) Paged(ctx context.Context, print func() error) error {
	argv := s.pager()
	if len(argv) == 0 || s.JSON {
		return print()
	}
	screen := s.App.Stdout
	var text bytes.Buffer
	s.App.Stdout = &text
	err := print()
	s.App.Stdout = screen
	if bytes.Count(text.Bytes(), []byte("\n")) >= s.App.Terminal.Height {
		perr := s.App.Terminal.Page(ctx, argv, text.String())
		if !errors.Is(perr, fs.ErrNotExist) {
			return err // the user ended the pager, or has seen its error
		}
	}
	_, werr := text.WriteTo(screen)
	return errors.Join(err, werr)
}

// WithPagedOutput is withExecutor for a function that prints to Stdout and asks no questions.
func WithPagedOutput(ctx context.Context, s *Session, do func(x executor.Executor) error) error {
	return WithExecutor(ctx, s, func(x executor.Executor) error {
		return s.Paged(ctx, func() error { return do(x) })
	})
}

// pager is the command of the pager: $FETTLE_PAGER, $PAGER or less, split at blanks. It is empty if
// there is no terminal, or the user turned the pager off with "cat".
func (s *Printer) pager() []string {
	t := s.App.Terminal
	if !t.Out || t.Page == nil || t.Height <= 0 {
		return nil
	}
	for _, name := range []string{"FETTLE_PAGER", "PAGER"} {
		if v := strings.Fields(s.App.Env(name)); len(v) > 0 {
			if v[0] == "cat" {
				return nil
			}
			return v
		}
	}
	return []string{"less"}
}
