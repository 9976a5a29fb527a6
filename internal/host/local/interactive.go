package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
)

// Interactive runs a program of this host on these streams, such as an editor or a pager on a
// terminal. It does not belong to a run. The program has the environment of the caller and env, as
// NAME=VALUE. The error is fs.ErrNotExist if there is no such program.
func Interactive(ctx context.Context, argv, env []string, in io.Reader, out, errs io.Writer) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = in, out, errs
	c.Env = append(c.Environ(), env...)
	err := c.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", argv[0], err)
	}
	return nil
}
