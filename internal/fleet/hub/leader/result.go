package leader

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// computed stores the last result, which was written, for Because.
func (l *Leader) computed(out assign.Output) {
	out.Written()
	l.mu.Lock()
	defer l.mu.Unlock()
	out.Assignments = nil // they are in their mirror
	l.out = out
}

// Because returns the reasons of the last decision that gave a module to a target. Only the leader
// has them.
func (l *Leader) Because(_ context.Context, id fleet.TargetID, module string) ([]string, error) {
	l.mu.Lock()
	leads, out := l.term != nil, l.out
	l.mu.Unlock()
	if !leads {
		return []string{"only the leading hub has the reasons, and another hub leads now. Ask the other hubs"}, nil
	}
	return out.Why(id, module), nil
}

// ContentDigests returns the digests of the content that the last computation on this hub used.
func (l *Leader) ContentDigests() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.ContentDigests()
}

// PruneShared removes shared modules that no assignment uses, if this hub leads. Writers rely on
// their knowledge of the stored ones, so other hubs must not remove any.
func (l *Leader) PruneShared(ctx context.Context) error {
	if !l.Leads() {
		return nil
	}
	return l.Assignments.PruneShared(ctx)
}
