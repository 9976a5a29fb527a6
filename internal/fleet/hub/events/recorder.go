// Package events records events of hubs in the log of a fleet.
//
//	r := events.Recorder{Hub: "hub1", Log: log, Now: time.Now, Warn: warn}
//	err := r.Record(ctx, fleet.HubEvent{Kind: fleet.TargetFrozen, Target: id, By: "kim"})
package events

import (
	"context"
	"encoding/json"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// Recorder appends events of one hub to the log. It is safe for concurrent use and has no lock.
type Recorder struct {
	Hub  string // the name of the hub
	Log  fleet.Log
	Now  func() time.Time
	Warn func(text string)
}

// Record appends an event to the log. It is durable when Record returns nil.
func (r Recorder) Record(ctx context.Context, e fleet.HubEvent) error {
	e.Format, e.At = fleet.HubEventFormat, r.Now().UnixNano()
	if e.By == "" {
		e.By = "hub " + r.Hub
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.Log.Append(ctx, [][]byte{text})
	return err
}

// Note records an event. A failure is only a warning.
func (r Recorder) Note(ctx context.Context, e fleet.HubEvent) {
	if err := r.Record(ctx, e); err != nil && ctx.Err() == nil {
		r.Warn("cannot store an event: " + err.Error())
	}
}

// Did records the operation of a user, if err is nil. A failure to record is only a warning: the
// operation was done, and the audit log contains it.
func (r Recorder) Did(ctx context.Context, by access.Principal, kind fleet.HubEventKind, id fleet.TargetID, module,
	text string, err error) error {
	if err == nil {
		r.Note(ctx, fleet.HubEvent{Kind: kind, Target: id, Module: module, By: by.Name, Text: text})
	}
	return err
}
