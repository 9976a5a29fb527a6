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

// IsLoop tells whether an operation failed because the way to the path goes
// round in links, so that nothing can stand at the path.
func IsLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }
