package mem

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The errors of a real file system, so that callers see no difference.
var (
	errNoEntry     error = syscall.ENOENT
	errExists      error = syscall.EEXIST
	errNotDir      error = syscall.ENOTDIR
	errIsDir       error = syscall.EISDIR
	errLoop        error = syscall.ELOOP
	errNameTooLong error = syscall.ENAMETOOLONG
	errNotPermit   error = syscall.EPERM
	errInvalid     error = syscall.EINVAL
	errBusy        error = syscall.EBUSY
	errNoData      error = syscall.ENODATA
	errBadFile     error = syscall.EBADF
)

func failed(what, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotDir) && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot %s %q: %w (%w)", what, path, err, fs.ErrNotExist)
	}
	return fmt.Errorf("cannot %s %q: %w", what, path, err)
}

func notRegular(path string, n *inode) error {
	return fmt.Errorf("cannot open %q: it is a %s, not a regular file", path, n.typ)
}
