package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
)

// Sources are the sources of a read model.
type Sources struct {
	Log fleet.Log
	// End is a recent end of the log, or 0 if unknown.
	End uint64
	// Targets contains fleet.Target as JSON by identity. Open decodes the entries of Assignments.
	Targets, Assignments fleet.Store
	// Open decodes an entry of Assignments. Entries that it refuses are omitted.
	Open func(e fleet.Entry) (fleet.Assignment, error)
}

// errOther means that the model was created from another log.
var errOther = errors.New("the model was created from another log")

// Follow updates the model until ctx ends or a source fails. It may be called again. If the log is
// not the one from which the model was created, because the store was lost or restored, it creates
// the model again.
func (v *View) Follow(ctx context.Context, s Sources) error {
	at, mark, err := v.place(ctx)
	if err == nil && s.End > 0 && at >= s.End {
		err = errOther
	}
	if err == nil {
		err = v.follow(ctx, s, at, mark)
	}
	if !errors.Is(err, errOther) {
		return err
	}
	if err := v.empty(ctx); err != nil {
		return err
	}
	return v.follow(ctx, s, 0, nil)
}

// place returns the newest position of the log in the model, and its mark.
func (v *View) place(ctx context.Context) (seq uint64, mark []byte, err error) {
	var n int64
	if err := v.read.QueryRowContext(ctx, "SELECT seq, mark FROM position").Scan(&n, &mark); err != nil {
		return 0, nil, v.unread(err)
	}
	return uint64(n), mark, nil
}

// empty deletes all rows.
func (v *View) empty(ctx context.Context) error {
	return v.update(ctx, "that another log begins", func(t *tx) error {
		for _, table := range tables {
			if err := t.exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		clear(v.rows)
		v.forget()
		t.changedAll = true
		return t.exec("UPDATE position SET seq = 0, mark = x''")
	})
}

func (v *View) follow(ctx context.Context, s Sources, at uint64, mark []byte) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return s.Log.Follow(ctx, max(at, 1)-1, func(seq uint64, records [][]byte) error {
			if seq == at {
				if !bytes.Equal(mark, markOf(records)) {
					return errOther
				}
				return nil
			}
			return v.Append(ctx, seq, records)
		})
	})
	g.Go(func() error { return v.mirror(ctx, s.Targets, v.storedTarget, v.RemoveTarget, "targets") })
	g.Go(func() error {
		return v.mirror(ctx, s.Assignments, func(ctx context.Context,
			e fleet.Entry) error {
			return v.storedAssignment(ctx, s, e)
		}, v.RemoveAssignment, "assignments")
	})
	g.Go(func() error { return v.rest(ctx) })
	return g.Wait()
}

func (v *View) storedTarget(ctx context.Context, e fleet.Entry) error {
	var t fleet.Target
	if err := json.Unmarshal(e.Value, &t); err != nil || string(t.ID) != e.Key {
		return nil // written by a newer hub: the earlier row stays
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

// mirror copies a store to a table, and first removes rows whose entries no longer exist.
func (v *View) mirror(ctx context.Context, store fleet.Store, put func(context.Context, fleet.Entry) error,
	remove func(context.Context, fleet.TargetID) error, table string) error {
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

// present returns the identities in a table.
func (v *View) present(ctx context.Context, table string) (map[string]bool, error) {
	rows, err := v.read.QueryContext(ctx, fmt.Sprintf("SELECT w.text FROM %s JOIN words w ON w.n = target", table))
	if err != nil {
		return nil, v.unread(err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, v.unread(err)
		}
		out[id] = true
	}
	return out, rows.Err()
}
