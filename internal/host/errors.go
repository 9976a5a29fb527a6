package host

import (
	"errors"
	"syscall"
)

// IsNotDir reports whether an operation failed because a component of the path is not a directory.
// No file can then exist at the path.
func IsNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// IsNoSpace reports whether the disk or a quota is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsReadOnly reports whether an operation failed because the file system is mounted read-only.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// IsLoop reports whether an operation failed because the path contains a loop of links. No file can
// then exist at the path.
func IsLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// PackagesError is a change of packages that failed.
type PackagesError struct {
	// Names are the packages that apt or dpkg named as the cause, without the architecture if it is
	// the host's own; none if apt and dpkg named none. They can differ from the packages of the
	// change.
	Names []string
	Err   error
}

func (e *PackagesError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PackagesError) Unwrap() error { return e.Err }

// IsFault reports whether an error of the system concerns the host and not the file at a path: a
// disk that cannot be read, too many open files. Such an error gives no information about the path,
// so no decision can depend on it.
func IsFault(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return false
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG:
		return false
	}
	return true
}
