// Package targets contains the registry of a fleet: the operations of users on targets, and the
// reports, clocks and claims of their agents.
//
//	g := targets.New(targets.Config{Hub: "hub1", Records: table, Events: recorder, …})
//	err := g.Freeze(ctx, by, id, document.FreezeRequest{Reason: "audit"})
//	t, err := g.Trusted(ctx, id) // an error if t is not active, or cloned
package targets

import (
	"context"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/metrics"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// Config contains what a Registry needs of its hub.
type Config struct {
	Hub     string // the name of the hub
	Now     func() time.Time
	Warn    func(text string)
	Context func() context.Context // ends with the hub

	Records    *records.Table
	View       *view.View
	Events     events.Recorder
	RetryQueue *limits.RetryQueue
	Exchange   fleet.Exchange
	Metrics    *metrics.Metrics
	Registrar  *pki.Registrar
	// LogEnd returns the last record in the log when View began to follow it.
	LogEnd func() uint64
	// Repository returns the repository that the fleet follows.
	Repository func() records.Repository
	// Released is called when an operator trusts a cloned target again.
	Released func(id fleet.TargetID)
}

// Registry contains the targets of a fleet. It is safe for concurrent use. The records of targets
// change by compare-and-set. The claims, the numbers of reports and the limits have their own locks,
// and mu protects skewed. No lock is taken under another.
type Registry struct {
	Config
	claims       *claims
	told         told
	reportLimits limits.TargetLimiter
	decompressor fleet.Decompressor // of reports

	mu     sync.Mutex
	skewed map[fleet.TargetID]bool // targets with a wrong clock
}

// AnswerClaim adds a claim of an agent to the record of its target, and answers with a new value.
func (g *Registry) AnswerClaim(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	return g.claims.answer(ctx, from, body)
}

// Follow watches the records of claims until ctx ends. Filled is closed when all existing records
// were read.
func (g *Registry) Follow(ctx context.Context) error { return g.claims.follow(ctx) }

// Filled is closed when Follow has read all existing records.
func (g *Registry) Filled() <-chan struct{} { return g.claims.ready }

// IsCloned reports whether a target gets nothing because it was cloned.
func (g *Registry) IsCloned(id fleet.TargetID) bool { return g.claims.isCloned(id) }

// OnTarget handles a changed record of a target. It ends the connections of a cloned target.
func (g *Registry) OnTarget(id fleet.TargetID, t fleet.Target) { g.claims.onTarget(id, t) }

// Forget removes the memory about a target that has left the fleet.
func (g *Registry) Forget(id fleet.TargetID) {
	g.told.forget(id)
	g.reportLimits.Forget(id)
}

// ForgetReports makes the hub accept only full reports next, because the log may have lost reports.
func (g *Registry) ForgetReports() { g.told.forgetAll() }
