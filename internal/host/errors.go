package host

import (
	"errors"
	"syscall"
)

// IsNotDir tells whether an operation failed because a component of the path
// is no directory, so that nothing can stand at the path.
func IsNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// IsNoSpace tells whether the disk or a quota is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsReadOnly tells whether an operation failed because the file system is mounted read-only.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// IsLoop tells whether an operation failed because the way to the path goes
// round in links, so that nothing can stand at the path.
func IsLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// PackagesError is a change of packages that failed.
type PackagesError struct {
	// Names are the packages that apt or dpkg named as the cause, without
	// architecture where it is the host's own; none where they did not say.
	// They need not be among those that the change was about.
	Names []string
	Err   error
}

func (e *PackagesError) Error() string { return e.Err.Error() }

// Unwrap gives what went wrong.
func (e *PackagesError) Unwrap() error { return e.Err }

// IsFault tells whether an error of the system is about the machine, and not about what
// is at a path: a disk that cannot be read, too many open files. It says nothing of the
// path, so nothing can be decided about it.
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
