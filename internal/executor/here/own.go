package here

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/host/local"
)

// OwnFolder makes a folder of this user's own where it is missing, and gives its path
// without links. Nobody but this user and root can have put anything there, or put another
// folder in its place: what is above belongs to these two as well. Else the error is
// local.ErrForeign, and nothing is made.
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
	real, err := local.OwnPath(there)
	if err == nil {
		real = filepath.Join(real, missing)
		err = os.MkdirAll(real, 0o700)
	}
	if err == nil {
		err = local.OwnFolder(real)
	}
	if err != nil {
		return "", fmt.Errorf("cannot use the folder %s: %w", path, err)
	}
	return real, nil
}
