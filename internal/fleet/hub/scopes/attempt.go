package scopes

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// OnHub does tasks on this hub.
type OnHub struct {
	Hub string // the name of this hub
	// Unable returns why this hub cannot do tasks now, or "". nil: this hub never does tasks.
	Unable func() string
	// Prepare returns the work of an attempt, from the content of a revision. An error means that the attempt did not
	// begin.
	Prepare func(ctx context.Context, at fleet.Revision, a fleet.TaskAttempt) (Work, error)
	// Do does the work, once. An empty outcome means that the result is unknown.
	Do func(ctx context.Context, w Work) (fleet.TaskOutcome, string)
	// Accept returns why this hub may not run commands of a revision, or nil.
	Accept func(ctx context.Context, at fleet.Revision) error
	// Test tests a condition once, within a limit. nil: it holds. An error that wraps checks.ErrUntested means that it
	// could not be tested.
	Test func(ctx context.Context, p query.Probe, limit time.Duration) error
	// Journal stores the attempts of this hub.
	Journal Journal
}

// Work is an attempt with everything that it needs. It contains secrets, so it is never stored.
type Work struct {
	Attempt fleet.TaskAttempt
	query.ScopeTask
	Env map[string]string // secrets, by environment variable
}

// maxDoing limits the attempts that a hub executes at the same time.
const maxDoing = 4

// ownAttempts are the attempts of this hub. Only RunAttempts uses the fields below wake.
type ownAttempts struct {
	wake    chan struct{}
	journal map[string]Entry
	doing   map[string]bool // by key of the task
	ended   chan ending
	// accepting are the fences of attempts that this process tried to accept.
	accepting map[uint64]bool
}

// ending is the result of an attempt.
type ending struct {
	key     string
	fence   uint64
	outcome fleet.TaskOutcome
	text    string
}

// poke lets RunAttempts search for attempts.
func (o *ownAttempts) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// unable returns why this hub cannot do tasks, or "".
func (o OnHub) unable() string {
	if o.Unable == nil {
		return "it runs no tasks"
	}
	return o.Unable()
}
