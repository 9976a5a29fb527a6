package view

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"fettle.dev/fettle/internal/fleet"
)

// PutTarget replaces the row of a target.
func (v *View) PutTarget(ctx context.Context, target fleet.Target) error {
	doc, err := asJSON(target)
	if err != nil {
		return err
	}
	var had string
	err = v.read.QueryRowContext(ctx, "SELECT doc FROM targets JOIN words w ON w.n = target WHERE w.text = ?",
		string(target.ID)).Scan(&had)
	if err == nil && had == doc {
		return nil
	}
	gone := target.Standing == fleet.Retired || target.Standing == fleet.Revoked
	return v.update(ctx, "a target", func(t *tx) error {
		n, err := t.word(string(target.ID))
		if err != nil {
			return err
		}
		t.changed = append(t.changed, n)
		return t.exec("INSERT OR REPLACE INTO targets VALUES (?, ?, ?, ?, ?, ?, ?)", n, target.Name, gone,
			target.Standing == fleet.Active, doc, string(target.Organization), target.Moved)
	})
}

// RemoveTarget deletes a target that its store no longer contains. Its events stay until Prune.
func (v *View) RemoveTarget(ctx context.Context, id fleet.TargetID) error {
	return v.update(ctx, "the removal of a target", func(t *tx) error {
		n, err := t.word(string(id))
		if err != nil {
			return err
		}
		t.changed = append(t.changed, n)
		return t.exec("DELETE FROM targets WHERE target = ?", n)
	})
}

// PutAssignment replaces the assignment of a target. It ignores one with the same epoch and
// generation.
func (v *View) PutAssignment(ctx context.Context, a fleet.Assignment) error {
	var had fleet.Assignment
	err := v.read.QueryRowContext(ctx,
		"SELECT epoch, generation FROM assignments JOIN words w ON w.n = target WHERE w.text = ?",
		string(a.Target)).Scan(&had.Epoch, &had.Generation)
	if err == nil && a.Newer(had) == 0 {
		return nil
	}
	return v.update(ctx, "an assignment", func(t *tx) error {
		n, err := t.word(string(a.Target))
		if err != nil {
			return err
		}
		top, err := t.part(a.Root)
		if err != nil {
			return err
		}
		list, err := t.list(a.Modules)
		if err != nil {
			return err
		}
		err = t.exec("INSERT OR REPLACE INTO assignments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", n, int64(a.Epoch),
			int64(a.Generation), a.Issued, a.Frozen, a.Withdrawn, top, list)
		return cmp.Or(err, t.sumStored(n))
	})
}

// RemoveAssignment deletes the assignment of a target.
func (v *View) RemoveAssignment(ctx context.Context, id fleet.TargetID) error {
	return v.update(ctx, "the removal of an assignment", func(t *tx) error {
		n, err := t.word(string(id))
		if err == nil {
			err = t.exec("DELETE FROM assignments WHERE target = ?", n)
		}
		return cmp.Or(err, t.sumStored(n))
	})
}

// part returns the number of a module or root bundle in assignments, which many targets share.
func (t *tx) part(m fleet.Assigned) (int64, error) {
	doc, err := asJSON(m)
	if err != nil {
		return 0, err
	}
	if n, ok := t.v.parts[doc]; ok {
		return n, nil
	}
	if len(t.v.parts) > maxParts {
		clear(t.v.parts)
	}
	var n int64
	err = t.row("SELECT n FROM parts WHERE doc = ?", doc).Scan(&n)
	if err == nil {
		t.v.parts[doc] = n
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	words, err := t.numbers(m.Module, m.Revision.Commit, m.Bundle.Digest)
	if err != nil {
		return 0, err
	}
	err = t.row("INSERT INTO parts (module, commit_, bundle, doc) VALUES (?, ?, ?, ?) RETURNING n", words[0], words[1],
		words[2], doc).Scan(&n)
	return n, err
}
