package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// OwnFolder makes a folder of this user's own where it is missing, and gives its path
// without links. Nobody but this user and root can have put anything there, or put another
// folder in its place: what is above belongs to these two as well. Else the error is
// ErrForeign, and nothing is made.
func OwnFolder(path string) (string, error) {
	there, missing := path, ""
	for {
		_, err := os.Lstat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
			return "", fmt.Errorf("cannot use the folder %s: %w", path, err)
		}
		there, missing = filepath.Dir(there), filepath.Join(filepath.Base(there), missing)
	}
	real, err := filepath.EvalSymlinks(there)
	if err == nil {
		err = trusted(real)
	}
	if err != nil {
		return "", fmt.Errorf("cannot use the folder %s: %w", path, err)
	}
	real = filepath.Join(real, missing)
	if err := errors.Join(os.MkdirAll(real, 0o700), ownersOnly(real, os.ModeDir)); err != nil {
		return "", fmt.Errorf("cannot use the folder %s: %w", path, err)
	}
	return real, nil
}

// trusted tells whether only root and this user decide what a path without links leads to.
// Where everybody may write, as in /tmp, nobody may move what is another's.
func trusted(path string) error {
	for {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		open := info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || open || !info.IsDir() {
			return fmt.Errorf("%s: %w", path, ErrForeign)
		}
		if path == filepath.Dir(path) {
			return nil
		}
		path = filepath.Dir(path)
	}
}
