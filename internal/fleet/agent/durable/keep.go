package durable

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/host"
)

// Keep copies what was saved last in a directory, before a newer program writes there.
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

// Return puts that copy back, if what is there now is of a newer program and cannot be
// read. What was assigned meanwhile comes again.
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
