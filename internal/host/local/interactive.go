package local

import (
	"context"
	"fmt"
	"io"
	"os/exec"
)

// Interactive runs a program of this host with the environment of the caller and these streams,
// such as an editor on a terminal. It does not belong to a run.
func Interactive(ctx context.Context, argv []string, in io.Reader, out, errs io.Writer) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = in, out, errs
	if err := c.Run(); err != nil {
		return fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	return nil
}
