package host

import (
	"fmt"
	"io"
)

// Locker is a file system that can hold one exclusive lock for a process. The lock is released when
// the process ends for any reason.
type Locker interface {
	// Lock takes the lock file at path (made with 0600) and writes holder, a line for users, into
	// it. It never waits: if another process holds the lock, the error is a *LockedError. Closing
	// the lock releases it.
	Lock(path, holder string) (io.Closer, error)
	// Holder returns the line of the current holder of the lock, "" if the lock is free. It never
	// takes the lock, so it cannot cause another process to be refused.
	Holder(path string) (string, error)
}

// LockedError names the holder of a lock.
type LockedError struct{ Holder string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("locked by another fettle: %s", e.Holder)
}
