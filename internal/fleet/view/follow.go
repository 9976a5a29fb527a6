package view

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
)

// Sources is what a read model is made from.
type Sources struct {
	Log fleet.Log
	// Targets has fleet.Target as JSON by identity, Assignments what Open reads.
	Targets, Assignments fleet.Store
	// Open reads an entry of Assignments. Those that it refuses are left out.
	Open func(e fleet.Entry) (fleet.Assignment, error)
}

// Follow keeps the model as the sources are, until ctx ends or one of them fails. It may
// be called again then.
func (v *View) Follow(ctx context.Context, s Sources) error {
	at, err := v.Position(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return s.Log.Follow(ctx, at, func(seq uint64, records [][]byte) error { return v.Take(ctx, seq, records) })
	})
	g.Go(func() error { return v.mirror(ctx, s.Targets, v.storedTarget, v.RemoveTarget, "targets") })
	g.Go(func() error {
		return v.mirror(ctx, s.Assignments, func(ctx context.Context, e fleet.Entry) error { return v.storedAssignment(ctx, s, e) }, v.RemoveAssignment, "assignments")
	})
	return g.Wait()
}

func (v *View) storedTarget(ctx context.Context, e fleet.Entry) error {
	var t fleet.Target
	if err := json.Unmarshal(e.Value, &t); err != nil || string(t.ID) != e.Key {
		return nil // a newer hub wrote it: what was known of it stays
	}
	return v.PutTarget(ctx, t)
}

func (v *View) storedAssignment(ctx context.Context, s Sources, e fleet.Entry) error {
	a, err := s.Open(e)
	if err != nil || string(a.Target) != e.Key {
		return nil
	}
	return v.PutAssignment(ctx, a)
}

// mirror brings a store into a table, and takes away what went while nobody looked.
func (v *View) mirror(ctx context.Context, store fleet.Store, put func(context.Context, fleet.Entry) error, remove func(context.Context, fleet.TargetID) error, table string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	left, err := v.present(ctx, table)
	if err != nil {
		return err
	}
	err = store.Watch(ctx, func(e fleet.Entry) {
		delete(left, e.Key)
		var err error
		if e.Gone {
			err = remove(ctx, fleet.TargetID(e.Key))
		} else {
			err = put(ctx, e)
		}
		if err != nil {
			stop(err)
		}
	}, func() {
		for id := range left {
			if err := remove(ctx, fleet.TargetID(id)); err != nil {
				stop(err)
			}
		}
		clear(left)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// present are the identities in a table.
func (v *View) present(ctx context.Context, table string) (map[string]bool, error) {
	rows, err := v.read.QueryContext(ctx, fmt.Sprintf("SELECT w.text FROM %s JOIN words w ON w.n = target", table))
	if err != nil {
		return nil, unread(err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, unread(err)
		}
		out[id] = true
	}
	return out, rows.Err()
}
