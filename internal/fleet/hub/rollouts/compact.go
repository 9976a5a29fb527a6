package rollouts

import (
	"context"
	"fmt"
	"strconv"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// A log with compactAfter entries or compactEvents events gets a snapshot. The ended rollouts in it have at most
// keepMembers targets together, which have about half of the size that the store permits.
const (
	compactAfter  = 500
	compactEvents = 200_000
	keepMembers   = 20000
)

// Compact replaces a long log with a snapshot, if no rollout is open. Only the hub that leads may call it.
// It can be repeated, and be interrupted at any point: entries before a snapshot have no effect.
func (l *Log) Compact(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	if l.read-l.snapshot < compactAfter && l.events < compactEvents {
		return nil
	}
	s, ok := l.state.Snapshot(keepMembers)
	if !ok {
		return nil
	}
	contents := map[string]fleet.Assigned{}
	for _, parts := range s.Stable {
		for part, d := range parts {
			c := rollout.Change{Part: part, Digest: d}
			if p, known := l.contents[c]; known {
				contents[contentKey(contents, c)] = p
			}
		}
	}
	e := records.Rollouts{Format: records.RolloutsFormat, Snapshot: &s, Contents: contents}
	if err := l.put(ctx, e); err != nil {
		return fmt.Errorf("cannot shorten the log of rollouts: %w", err)
	}
	l.sync()
	return l.forget(ctx)
}

// forget removes the entries before the newest snapshot.
func (l *Log) forget(ctx context.Context) (err error) {
	l.mirror.Each(func(key string, _ records.StoredRollouts, _ uint64) {
		if n, bad := strconv.ParseUint(key, 10, 64); bad == nil && n < l.snapshot && err == nil {
			err = l.mirror.Remove(ctx, key)
		}
	})
	return err
}
