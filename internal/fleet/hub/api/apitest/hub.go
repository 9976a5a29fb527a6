package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Check reports a missing backup.
func (fixed) Check(context.Context) document.HubCheck {
	return document.HubCheck{Format: document.HubCheckFormat, Hub: "h1", Checks: []document.HubFinding{
		{Name: "bus", Well: true, Text: "healthy"}, {Name: "backup", Text: "there is no backup",
			Hint: "Create one: fettle hub backup FILE"},
	}}
}

// SaveState returns an almost empty state.
func (fixed) SaveState(context.Context, access.Principal) (document.HubState, error) {
	return document.HubState{Format: document.HubStateFormat, Fleet: "acme", Hub: "h1", At: Now().UnixNano(),
		Buckets: map[string]map[string]string{"people": {}}}, nil
}

// BackupSaved does nothing.
func (fixed) BackupSaved(context.Context, access.Principal, int64) error { return nil }
