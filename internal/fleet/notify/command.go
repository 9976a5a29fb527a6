package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// commandChannel is the channel that runs a program of the hub.
type commandChannel document.Command

// Check accepts only a program in the directory of the hub.
func (c *commandChannel) Check() error {
	for _, a := range c.Args {
		if strings.ContainsRune(a, 0) {
			return errors.New("cannot use an argument with a NUL byte for a program")
		}
	}
	return CheckName(c.Program)
}

// Send runs the program with the notice as JSON on its standard input.
func (c *commandChannel) Send(ctx context.Context, s *Sender, n document.Notice) error {
	if s.Run == nil {
		return errors.New("cannot run a program: this hub was started without this ability")
	}
	if err := CheckName(c.Program); err != nil {
		return err
	}
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := s.Run(ctx, append([]string{path.Join(s.Dir, c.Program)}, c.Args...), append(body, '\n')); err != nil {
		return fmt.Errorf("cannot run %s: %w", c.Program, err)
	}
	return nil
}
