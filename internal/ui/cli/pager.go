package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"fettle.dev/fettle/internal/executor"
)

// paged runs a function that prints to Stdout. On a terminal, output that is longer than the screen
// opens in a pager.
func (s *printer) paged(ctx context.Context, print func() error) error {
	argv := s.pager()
	if len(argv) == 0 || s.json {
		return print()
	}
	screen := s.app.Stdout
	var text bytes.Buffer
	s.app.Stdout = &text
	err := print()
	s.app.Stdout = screen
	if bytes.Count(text.Bytes(), []byte("\n")) >= s.app.Terminal.Height {
		perr := s.app.Terminal.Page(ctx, argv, text.String())
		if !errors.Is(perr, fs.ErrNotExist) {
			return err // the user ended the pager, or has seen its error
		}
	}
	_, werr := text.WriteTo(screen)
	return errors.Join(err, werr)
}

// withPaged is withExecutor for a function that prints to Stdout and asks no questions.
func withPaged(ctx context.Context, s *session, do func(x executor.Executor) error) error {
	return withExecutor(ctx, s, func(x executor.Executor) error {
		return s.paged(ctx, func() error { return do(x) })
	})
}

// pager is the command of the pager: $FETTLE_PAGER, $PAGER or less, split at blanks. It is empty if
// there is no terminal, or the user turned the pager off with "cat".
func (s *printer) pager() []string {
	t := s.app.Terminal
	if !t.Out || t.Page == nil || t.Height <= 0 {
		return nil
	}
	for _, name := range []string{"FETTLE_PAGER", "PAGER"} {
		if v := strings.Fields(s.app.Env(name)); len(v) > 0 {
			if v[0] == "cat" {
				return nil
			}
			return v
		}
	}
	return []string{"less"}
}
