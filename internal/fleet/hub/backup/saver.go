package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host"
)

// Config contains what a Saver needs of its hub.
type Config struct {
	Hub, Fleet   string // names
	Files        host.FS
	Dir          string // the directory of the hub
	ExternalNats bool   // an external NATS cluster stores the data
	Now          func() time.Time
	Warn         func(text string)
	Records      *records.Table
	Events       events.Recorder
}

// Saver saves and loads the state that hubs share. It is safe for concurrent use and has no lock.
type Saver struct{ Config }

// New returns a saver. Records must be open.
func New(c Config) *Saver { return &Saver{c} }

// lastBackup is the key of the time of the last backup.
const lastBackup = "backup/last"

// HandleRoutes registers the handlers of backups.
func (s *Saver) HandleRoutes(t *api.Table) {
	api.HandlePost(t, route.SaveState(), s.SaveState)
	api.HandleDone(t, route.BackupSaved(), "The backup is recorded.", s.BackupSaved)
}

// SaveState returns the state that hubs share. Hubs may change it at the same time: each entry is
// consistent, but two entries may be from different moments.
func (s *Saver) SaveState(ctx context.Context, _ api.Caller, _ document.ReasonRequest) (document.HubState, error) {
	now := s.Now().UnixNano()
	d := document.HubState{Format: document.HubStateFormat, Fleet: s.Fleet, Hub: s.Hub, At: now,
		Buckets: map[string]map[string]string{}}
	for _, name := range records.Saved() {
		all, err := s.Records.Buckets[name].All(ctx)
		if err != nil {
			return d, err
		}
		d.Buckets[name] = map[string]string{}
		for _, e := range all {
			if !utf8.Valid(e.Value) {
				return d, fmt.Errorf("cannot save the entry %s of the bucket %s: it is not UTF-8 text", e.Key, name)
			}
			d.Buckets[name][e.Key] = string(e.Value)
		}
	}
	return d, nil
}

// BackupSaved records that a backup was stored, with the time in the state that SaveState returned, in ns since 1970. A
// backup counts only when it is stored.
func (s *Saver) BackupSaved(ctx context.Context, by api.Caller, _ route.None, r document.BackupSaved) error {
	if r.At <= 0 || r.At > s.Now().UnixNano() {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot record a backup with a time in the future",
			Hint: "Use the time in the backup"}
	}
	text, err := json.Marshal(r.At)
	if err == nil {
		_, err = s.Records.Buckets["settings"].Put(ctx, lastBackup, text)
	}
	return errors.Join(err, s.Events.Record(ctx, fleet.HubEvent{Kind: fleet.BackupMade, By: by.Name, Text: "a backup"}))
}

// Age returns the time since the last backup. Without a backup it returns fleet.ErrNotFound.
func (s *Saver) Age(ctx context.Context) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, records.StatusTimeout/2)
	defer stop()
	e, err := s.Records.Buckets["settings"].Get(ctx, lastBackup)
	var at int64
	if err == nil {
		err = json.Unmarshal(e.Value, &at)
	}
	return s.Now().Sub(time.Unix(0, at)), err
}
