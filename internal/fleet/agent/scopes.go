package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
)

var _ Checker = (*Runner)(nil)

// Checks implements Checker. It compiles only if the composition has changed.
func (r *Runner) Checks(_ context.Context, c checks.Composition) ([]checks.Check, error) {
	if r.Scopes.Read == nil {
		return nil, nil
	}
	bare := c.Has
	bare.Exported = nil
	key := r.Version + " " + contentKey(bare, c.Absent)
	for _, e := range c.Has.TestsFor {
		key += " " + e.Text()
	}
	if r.Scopes.Memory != nil {
		if list, ok := r.Scopes.Memory.Load(key); ok {
			return list, nil
		}
	}
	all, err := r.readScopes(c.Has, c.Absent)
	if err != nil {
		return nil, err
	}
	if _, err := r.noteUndos(all, c.Has.Name); err != nil {
		return nil, err
	}
	list := all.Tests(c.Has.Name)
	if r.Scopes.Memory != nil {
		_ = r.Scopes.Memory.Save(key, list) // without it, the next start compiles
	}
	return list, nil
}

// noteUndos stores the undos of the applied tasks, and returns all stored ones.
func (r *Runner) noteUndos(all query.Scopes, target string) (map[string]undo, error) {
	if r.Scopes.Undos == nil {
		return nil, nil
	}
	return r.Scopes.Undos.Note(all, target, r.Now())
}

// Test implements Checker.
func (r *Runner) Test(ctx context.Context, p query.Probe, limit time.Duration) error {
	if r.Scopes.Test == nil {
		return errors.New("this agent was configured without tests of conditions")
	}
	return r.Scopes.Test(ctx, p, limit)
}

func (r *Runner) readScopes(has fleet.Assignment, absent []string) (query.Scopes, error) {
	tree, closing, err := r.Content.Tree(has, absent)
	if err != nil {
		return query.Scopes{}, err
	}
	all, ds := r.Scopes.Read(tree)
	if err := errors.Join(ds.Err(), closing()); err != nil {
		return query.Scopes{}, fmt.Errorf("cannot read the scopes of the repository: %w", err)
	}
	return all, nil
}
