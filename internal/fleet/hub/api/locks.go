package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Locks are the locks of the fleet.
type Locks interface {
	// Locks returns all locks, sorted by name. The caller sets the format.
	Locks(ctx context.Context) ([]document.Lock, error)
	// ReleaseSlot returns a Refusal if there is no such lock, or if the owner has no slot.
	ReleaseSlot(ctx context.Context, by access.Principal, lock string, r document.LockReleaseRequest) error
}

// HandleLocks registers the handlers of locks.
func HandleLocks(t *Table, b Locks) {
	handleGet(t, route.Locks(), func(ctx context.Context) (document.LockPage, error) {
		all, err := b.Locks(ctx)
		return document.LockPage{Format: document.LockPageFormat, Locks: append([]document.Lock{}, all...)}, err
	})
	Handle(t, route.ReleaseLock(),
		func(ctx context.Context, c Caller, at route.LockName, r document.LockReleaseRequest) (document.Done, error) {
			if r.Owner == "" || r.Reason == "" {
				return document.Done{}, &Refusal{BadRequest, "cannot release a slot without an owner and a reason",
					"First make sure that the target has finished: fettle lock release LOCK TARGET --reason WHY"}
			}
			return done(b.ReleaseSlot(ctx, c.Principal, at.Lock, r), "The slot of %s is released. Lock: %s.", r.Owner, at.Lock)
		})
}
