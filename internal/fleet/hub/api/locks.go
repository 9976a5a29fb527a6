package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
)

// Locks are the locks of the fleet.
type Locks interface {
	// Locks returns all locks, sorted by name.
	Locks(ctx context.Context) (document.LockPage, error)
}
