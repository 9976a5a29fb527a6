package local

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// Interactive runs a program of this machine, with the environment of whoever
// has called and on these streams: an editor on a terminal. It is no part of any
// run.
func Interactive(ctx context.Context, argv []string, in io.Reader, out, errs io.Writer) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = in, out, errs
	if err := c.Run(); err != nil {
		return fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	return nil
}
