// Package notices notifies users of alarms, events and states of targets, by the rules of a fleet.
//
//	n := notices.Notifier{Config: notices.Config{Hub: "hub1", Fleet: "acme", Records: table, …}}
//	alarms, err := n.Alarms(ctx)
//	err = n.Run(ctx) // only on the leader
package notices

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host"
)

// Config contains what a Notifier needs of its hub.
type Config struct {
	Hub, Fleet string // names
	Files      host.FS
	Dir        string // the directory of the hub
	// Binary runs a program for a notice, see hub.Config.
	Binary  func(ctx context.Context, argv []string, stdin []byte) error
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub

	Records    *records.Table
	View       *view.View
	Events     events.Recorder
	RetryQueue *limits.RetryQueue
	// Health examines this hub. HubAlarms returns the alarms of missing copies of the data, and of limits of hubs.
	Health    func(context.Context) document.Health
	HubAlarms func() []assign.Alarm
}

// Notifier evaluates the rules and sends notices. It is safe for concurrent use and has no lock: the
// records of rules and notices change by compare-and-set.
type Notifier struct{ Config }
