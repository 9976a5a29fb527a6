package here

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/host/local"
)

// OwnDirectory creates a directory of this user if it is missing, and returns its path
// without symbolic links. All parent directories belong to this user or to root, so no
// other user can place files there or replace the directory. Otherwise the error wraps
// local.ErrForeign, and nothing is created.
func OwnDirectory(path string) (string, error) {
	there, missing := path, ""
	for {
		_, err := os.Lstat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
			return "", fmt.Errorf("cannot use the directory %s: %w", path, err)
		}
		there, missing = filepath.Dir(there), filepath.Join(filepath.Base(there), missing)
	}
	real, err := local.OwnPath(there)
	if err == nil {
		real = filepath.Join(real, missing)
		err = os.MkdirAll(real, 0o700)
	}
	if err == nil {
		err = local.OwnDirectory(real)
	}
	if err != nil {
		return "", fmt.Errorf("cannot use the directory %s: %w", path, err)
	}
	return real, nil
}
