package outside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// Modes of written files.
const (
	plainFile = fs.FileMode(0o644)
	program   = fs.FileMode(0o755)
)

// writeFile replaces a file of a repository. A link in the path cannot lead out of dir.
func writeFile(dir, name string, text []byte, mode fs.FileMode) error {
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

// removeFile removes a file of a repository. A missing file is not an error.
func removeFile(dir, name string) error {
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
