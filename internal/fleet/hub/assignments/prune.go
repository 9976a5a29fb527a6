package assignments

import (
	"context"
	"errors"
	"maps"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// forget clears the knowledge about the bucket: another leader may have removed sets.
func (c *sharedModules) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.idle = map[string]bool{}, nil
}

// keep removes all other sets from the cache. A removed set is read or written again when it is
// needed.
func (c *sharedModules) keep(used map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.known, func(digest string, _ *records.Common) bool { return !used[digest] })
	maps.DeleteFunc(c.there, func(digest string, _ bool) bool { return !used[digest] })
}

// prune removes sets that no assignment has used at this and at the previous call. Only the leader
// may call it, because writers rely on their knowledge of the bucket.
func (c *sharedModules) prune(ctx context.Context, named func() map[string]bool) error {
	c.using.Lock()
	defer c.using.Unlock()
	entries, err := c.store().All(ctx)
	if err != nil {
		return err
	}
	used, idle := named(), map[string]bool{}
	c.keep(used)
	for _, e := range entries {
		switch {
		case used[e.Key]:
		case !c.idle[e.Key]:
			idle[e.Key] = true
		default:
			err := c.store().Delete(ctx, e.Key, e.Rev)
			if err != nil && !errors.Is(err, fleet.ErrConflict) && !errors.Is(err, fleet.ErrNotFound) {
				return err
			}
		}
	}
	c.idle = idle
	return nil
}

// ForgetShared clears the knowledge about existing shared modules. A new leader calls it.
func (s *Store) ForgetShared() { s.shared.forget() }

// PruneShared removes shared modules that no assignment uses. Only the leader may call it.
func (s *Store) PruneShared(ctx context.Context) error {
	return s.shared.prune(ctx, func() map[string]bool {
		named := map[string]bool{}
		for _, g := range s.Records.Assignments.Values() {
			if g.Common != nil {
				named[g.Common.Digest] = true
			}
		}
		return named
	})
}
