// Package exports stores the exported values of targets, and shows them to users.
//
//	v := exports.New(exports.Config{Records: table, Events: recorder, Trusted: registry.Trusted, …})
//	answer, err := v.OnExports(ctx, id, body)
//	page, err := v.Exports(ctx)
//
// A target without a record exports nothing. Values are durable before an agent gets its answer. An
// agent repeats its values until a hub has acknowledged them, and equal values change nothing.
package exports

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"golang.org/x/time/rate"
)

// Config contains what a Values needs of its hub.
type Config struct {
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub

	Records *records.Table
	Events  events.Recorder
	// Trusted returns a target whose values count.
	Trusted func(context.Context, fleet.TargetID) (fleet.Target, error)
}

// Values stores exported values. It is safe for concurrent use: records change by compare-and-set,
// and limiter has its own lock.
type Values struct {
	Config
	limiter limits.TargetLimiter
}

// New returns a handler.
func New(c Config) *Values { return &Values{Config: c, limiter: newLimiter()} }

// A target may change its exported values exportBurst times at once, and then once per exportEvery.
// A working agent changes them less often.
const (
	exportBurst = 12
	exportEvery = time.Minute
)

func newLimiter() limits.TargetLimiter {
	return limits.TargetLimiter{Every: rate.Every(exportEvery), Burst: exportBurst}
}
