package api

import (
	"net/http"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// hubRoutes returns the routes about this hub.
func hubRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/check", Right: access.Read, Does: "Check the hub thoroughly", Out: document.HubCheck{}, call: (*call).check},
		{Method: http.MethodPost, Path: "/v1/backup", Right: access.Admin, Does: "Export the data that hubs share, for a backup", In: document.ReasonRequest{}, Out: document.HubState{}, call: (*call).backup},
		{Method: http.MethodPost, Path: "/v1/backup/saved", Right: access.Admin, Does: "Record that a backup is stored", In: document.BackupSaved{}, Out: document.Done{}, call: (*call).backupSaved},
	}
}

func (c *call) check() (any, error) {
	d := c.h.Backend.Check(c.r.Context())
	d.Checks = append([]document.HubFinding{}, d.Checks...)
	return d, nil
}

func (c *call) backup() (any, error) { return c.h.Backend.SaveState(c.r.Context(), c.who) }

func (c *call) backupSaved() (any, error) {
	at := c.in.(*document.BackupSaved).At
	return done("The backup is recorded.")(c.h.Backend.BackupSaved(c.r.Context(), c.who, at))
}
