package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// ErrNoSlot: the run did not begin, because it needs a slot of a lock and did not get it.
var ErrNoSlot = errors.New("no slot of a lock")

// LockWait is the time for which a run waits for its slots.
const LockWait = 10 * time.Minute

// Locks acquires slots of locks for runs. A fleet grants them, through the agent of the host.
type Locks interface {
	// Acquire acquires a slot of each lock, or none. It waits until all are free, or until LockWait is over. show
	// receives the reason for which it waits, for display. The names are sorted.
	Acquire(ctx context.Context, names []string, show func(text string)) (Slots, error)
}

// LockObserver is a Locks that also describes locks. It acquires nothing.
type LockObserver interface {
	// Describe returns sentences for users: whether a run would get the slots of these locks now, and the owners of the
	// slots. If this is unknown, a sentence contains the reason.
	Describe(ctx context.Context, names []string) []string
}

// Slots are acquired slots. Their leases are renewed until Release.
type Slots interface {
	// Tokens returns the fencing token of each lock.
	Tokens() map[string]uint64
	// Lost is closed when the run must stop, because its leases could not be renewed and will end.
	Lost() <-chan struct{}
	// Release releases all slots. If no hub answers, the agent releases them later.
	Release()
}

// NeededLocks returns the names of the locks that a run of a plan needs, sorted: the locks of its changes, before and
// after the change, and of the changes that are expected in later phases.
func NeededLocks(p *plan.Plan, list step.List) []string {
	var out []string
	for _, c := range p.Changes {
		if c.Action.Mutates() {
			out = append(append(out, c.Step.Locks()...), c.Applied.Locks()...)
		}
	}
	later := map[addr.Addr]bool{}
	for _, l := range p.Later {
		later[l.Addr] = true
	}
	for _, s := range list {
		if len(later) > 0 && s.Locked() && later[s.Addr()] {
			out = append(out, s.Locks()...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TokenVariable returns the name of the environment variable with the token of a lock: FETTLE_LOCK_<NAME>_TOKEN, with
// the name in upper case and each other character than letters and digits replaced by _.
func TokenVariable(lock string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, lock)
	return "FETTLE_LOCK_" + name + "_TOKEN"
}
