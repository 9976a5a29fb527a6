package durable

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/host"
)

// Keep copies the stored state before a newer binary starts, because the newer binary can change
// its format.
func Keep(files host.FS, dir string) error {
	text, err := (&Dir{files: files}).read(path.Join(dir, "state.json"), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Replace(files, path.Join(dir, "state.before"), text)
}

// Return restores the copy if this binary cannot read the current state. A hub sends newer
// assignments again.
func Return(files host.FS, dir string) error {
	d := &Dir{files: files, dir: dir}
	if _, err := d.Load(); err == nil {
		return nil
	}
	f, err := files.Open(path.Join(dir, "state.before"))
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil {
		return err
	}
	return Replace(files, path.Join(dir, "state.json"), text)
}
