package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// LockName is the value in a path of one lock.
type LockName struct {
	Lock string `path:"lock"`
}

func ofLocks() []Row { return []Row{Locks().Row, ReleaseLock().Row} }

// Locks lists all locks, and the targets that hold slots.
func Locks() (r Route[None, None, document.LockPage]) {
	return r.get(access.Read, "/v1/locks", "List locks and the targets that hold their slots")
}

// ReleaseLock releases the slot of a target that cannot release it.
func ReleaseLock() (r Route[LockName, document.LockReleaseRequest, document.Done]) {
	return r.post(access.Operate, "/v1/locks/{lock}/release", "Release the slot of a target")
}
