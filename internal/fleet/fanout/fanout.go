// Package fanout runs work on many targets: with a limit of concurrent targets, in batches that end
// before the next one begins, and with a limit of failures.
//
//	sum := fanout.Run(ctx, names, fanout.Options{Parallel: 20}, work, interrupts, observe)
//	fmt.Println(sum.Count(fanout.Changed), sum.Names(fanout.Failed, fanout.Unreachable))
//
// Machine makes the decisions and is pure; Run executes them. Every target ends with exactly one
// outcome.
package fanout

import (
	"errors"
	"time"

	"fettle.dev/fettle/internal/amount"
)

// Status is the result of one target.
type Status uint8

// The results of a target.
const (
	Unset       Status = iota // not set; as the result of work it counts as failed
	OK                        // already in sync
	Changed                   // changed, and now in sync
	Failed                    // the work failed on the target
	Unreachable               // the target could not be reached
	Skipped                   // the work was not started
)

// String returns the word for users and JSON.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Changed:
		return "changed"
	case Failed:
		return "failed"
	case Unreachable:
		return "unreachable"
	case Skipped:
		return "skipped"
	}
	return "unset"
}

// bad returns true if the status counts as a failure.
func (s Status) bad() bool { return s == Failed || s == Unreachable }

// Outcome is the result of one target. Why is one line for users: the reason of a skipped target,
// or any text of work.
type Outcome struct {
	Status Status
	Why    string
}

// DefaultParallel is the default number of concurrent targets.
const DefaultParallel = 50

// Options are the limits of Run. The zero value is one batch of all targets, with DefaultParallel
// at once and any number of failures.
type Options struct {
	// Parallel is the number of concurrent targets; 0 is DefaultParallel.
	Parallel int
	// Batch is the size of a batch; the zero value is all targets. All targets of a batch end
	// before the next batch begins.
	Batch amount.Amount
	// MaxFailed is the number of targets that may fail or be unreachable. After one more failure no
	// further target starts. nil is any number.
	MaxFailed *amount.Amount
}

// The type What has the kinds of events.
type What uint8

// The kinds of events. A target has first Started, then Ended; a skipped target only Ended.
// Finished is the last event.
const (
	Nothing   What = iota
	Started        // work begins on Target
	Ended          // Outcome is the result of Target
	Stopped        // no further target starts; Why is the reason
	Cancelled      // the contexts of running targets are cancelled
	Finished       // every target has its outcome
)

// String returns the word for messages of tests and logs.
func (w What) String() string {
	return [...]string{"nothing", "started", "ended", "stopped", "cancelled", "finished"}[min(w, Finished)]
}

// Event is one event.
type Event struct {
	At      time.Time
	What    What
	Target  string  // of Started and Ended
	Outcome Outcome // of Ended
	Why     string  // of Stopped
	Running int     // number of running targets after the event
	Waiting int     // number of targets that have not started
}

// Result is the outcome of one target, with its times. For a skipped target both times are the time
// of that decision.
type Result struct {
	Target       string
	Outcome      Outcome
	Began, Ended time.Time
}

// Summary has the results of all targets, in the given order.
type Summary []Result

// Count returns the number of targets with one of these statuses.
func (s Summary) Count(of ...Status) int { return len(s.Names(of...)) }

// Names returns the targets with one of these statuses, in order.
func (s Summary) Names(of ...Status) []string {
	var out []string
	for _, r := range s {
		for _, status := range of {
			if r.Outcome.Status == status {
				out = append(out, r.Target)
				break
			}
		}
	}
	return out
}

// ErrInterrupted is the cause of the context of work after the second interrupt.
var ErrInterrupted = errors.New("interrupted")
