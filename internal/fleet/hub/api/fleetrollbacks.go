package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// FleetRollbacks are the rollbacks of the fleet. The parts in requests have the names of directories.
type FleetRollbacks interface {
	// FleetRollbacks returns the rollbacks that were not released, sorted by part.
	FleetRollbacks(ctx context.Context) ([]document.FleetRollback, error)
	// RollBackFleet stores a rollback. text is the answer for the user, also if there is nothing to do.
	RollBackFleet(ctx context.Context, by access.Principal, r document.FleetRollbackRequest) (text string, err error)
	// ReleaseFleet removes rollbacks. text is the answer for the user.
	ReleaseFleet(ctx context.Context, by access.Principal, r document.FleetReleaseRequest) (text string, err error)
}

// HandleFleetRollbacks registers the handlers of rollbacks of the fleet.
func HandleFleetRollbacks(t *Table, b FleetRollbacks) {
	handleGet(t, route.FleetRollbacks(), func(ctx context.Context) (document.FleetRollbackPage, error) {
		all, err := b.FleetRollbacks(ctx)
		return document.FleetRollbackPage{Format: document.FleetRollbackPageFormat,
			Rollbacks: append([]document.FleetRollback{}, all...)}, err
	})
	handlePost(t, route.RollBackFleet(),
		func(ctx context.Context, c Caller, r document.FleetRollbackRequest) (document.Done, error) {
			r.Part = partOf(r.Part)
			text, err := b.RollBackFleet(ctx, c.Principal, r)
			return done(err, "%s", text)
		})
	handlePost(t, route.ReleaseFleet(),
		func(ctx context.Context, c Caller, r document.FleetReleaseRequest) (document.Done, error) {
			r.Part = partOf(r.Part)
			text, err := b.ReleaseFleet(ctx, c.Principal, r)
			return done(err, "%s", text)
		})
}

// partOf returns the name of a part. Users may omit "modules/".
func partOf(name string) string {
	if name == "all" || name == "top" {
		return name
	}
	return Directory(name)
}
