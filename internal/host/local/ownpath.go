package local

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// OwnPath gives a path without links, if only root and this user decide what it leads to,
// from the top on: else the error is ErrForeign. Where everybody may write, as in /tmp,
// nobody may move what is another's.
func OwnPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		open := info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0
		if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() || open || !info.IsDir() {
			return "", fmt.Errorf("%s: %w", at, ErrForeign)
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}

// OwnFolder tells whether a folder is this user's, and nobody else may write to it: else
// the error is ErrForeign.
func OwnFolder(path string) error { return ownersOnly(path, os.ModeDir) }
