package local

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// OwnPath returns a path without links, if only root and this user can change its destination, from
// the top on; otherwise the error is ErrForeign. In a directory that all users can write to, such
// as /tmp, the sticky bit must protect entries of other users.
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

// OwnDirectory checks that a directory belongs to this user, and that only this user can write to it;
// otherwise the error is ErrForeign.
func OwnDirectory(path string) error { return ownersOnly(path, os.ModeDir) }
