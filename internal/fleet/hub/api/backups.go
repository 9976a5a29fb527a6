package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Backups are backups of the data that hubs share.
type Backups interface {
	// SaveState returns the data that hubs share, for a backup.
	SaveState(ctx context.Context, by access.Principal) (document.HubState, error)
	// BackupSaved records that a backup is stored. at is the time in its state, in ns since 1970.
	// It returns a Refusal for a time in the future.
	BackupSaved(ctx context.Context, by access.Principal, at int64) error
}

// HandleBackups registers the handlers of backups.
func HandleBackups(t *Table, b Backups) {
	handlePost(t, route.SaveState(),
		func(ctx context.Context, c Caller, _ document.ReasonRequest) (document.HubState, error) {
			return b.SaveState(ctx, c.Principal)
		})
	handlePost(t, route.BackupSaved(),
		func(ctx context.Context, c Caller, r document.BackupSaved) (document.Done, error) {
			return done(b.BackupSaved(ctx, c.Principal, r.At), "The backup is recorded.")
		})
}
