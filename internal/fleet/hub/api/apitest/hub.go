package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Check finds that there is no backup.
func (h *Hub) Check(context.Context) document.HubCheck {
	return document.HubCheck{Format: document.HubCheckFormat, Hub: "h1", Checks: []document.HubFinding{
		{Name: "bus", Well: true, Text: "well"}, {Name: "backup", Text: "there is no backup", Hint: "Create one: fettle hub backup FILE"},
	}}
}

// SaveState gives next to nothing.
func (h *Hub) SaveState(context.Context, access.Who) (document.HubState, error) {
	return document.HubState{Format: document.HubStateFormat, Fleet: "acme", Hub: "h1", At: Now().UnixNano(), Buckets: map[string]map[string]string{"people": {}}}, nil
}

// BackupSaved records nothing.
func (h *Hub) BackupSaved(context.Context, access.Who, int64) error { return nil }
