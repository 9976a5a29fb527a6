package here

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/executor"
)

// Fetch copies a file of a target to a path on this machine. It creates the directory, and replaces an
// existing file only when the copy is complete.
func Fetch(ctx context.Context, from executor.Files, path, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(to), ".fettle-*")
	if err != nil {
		return err
	}
	_, err = from.Get(ctx, path, temp)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), to)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
