// Package binaries stores the binaries of agents that users upload, and the settings which agents must
// run them.
//
//	s := binaries.New(binaries.Config{Content: store, Records: table, Events: recorder, …})
//	mux.HandleFunc("POST "+binaries.UploadPath, s.ServeUpload)
//	err := s.SetBinary(ctx, by, request, targets)
//
// Without a setting, agents keep their binary. An upload may be repeated: content is named by its
// digest. An interrupted upload stores nothing. A setting for the same selection replaces the earlier
// one.
package binaries

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Config contains what a Store needs of its hub.
type Config struct {
	Now     func() time.Time
	Content *content.Store
	Records *records.Table
	Events  events.Recorder
	// Authenticate returns the user of a request. Audit appends to the audit log.
	Authenticate func(*http.Request) (access.Principal, error)
	Audit        func(context.Context, access.Entry) error
}

// Store stores binaries and their settings. It is safe for concurrent use and has no lock.
type Store struct{ Config }

// New returns a store.
func New(c Config) *Store { return &Store{c} }
