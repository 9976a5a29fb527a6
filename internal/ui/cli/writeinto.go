package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// WriteInto writes a file of a repository, whole: no link leads it out of dir.
func WriteInto(dir, name string, text []byte) error { return WriteWith(dir, name, text, false) }

// WriteWith is writeInto for programs too.
func WriteWith(dir, name string, text []byte, program bool) error {
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	defer root.Close()
	err = root.MkdirAll(path.Dir(name), 0o755)
	temp := path.Join(path.Dir(name), ".fettle-"+path.Base(name)+".new")
	if err == nil {
		err = root.WriteFile(temp, text, mode)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		_ = root.Remove(temp)
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// RemoveFrom removes a file of a repository; a missing file is not an error.
func RemoveFrom(dir, name string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", name, err)
	}
	defer root.Close()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", name, err)
	}
	return nil
}
