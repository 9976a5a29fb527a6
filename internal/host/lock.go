package host

import (
	"fmt"
	"io"
)

// Locker is a file system that can hold one exclusive lock for a process. The
// lock goes when the process ends, however it ends.
type Locker interface {
	// Lock takes the lock file at path (made with 0600) and writes holder, a
	// line for people, into it. It never waits: when another process holds the
	// lock the error is a *LockedError. Closing the lock frees it.
	Lock(path, holder string) (io.Closer, error)
	// Holder gives the line of whoever holds the lock now, "" when nobody does.
	// It takes the lock at no moment, so that looking never refuses anybody.
	Holder(path string) (string, error)
}

// LockedError tells who holds a lock.
type LockedError struct{ Holder string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("locked by another fettle: %s", e.Holder)
}
