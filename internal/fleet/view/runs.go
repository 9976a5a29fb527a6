package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// RunQuery selects ended runs, by their number or by a commit.
type RunQuery struct {
	Run    int    // in the history of its target; 0 means any
	Target string // a name or an identity; "" means any
	Commit string // the beginning of a commit to which the run changed a module; "" means any
	Limit  int
}

// Runs returns reported ends of runs, the newest first, and how many more there are. An unknown target has no runs, and
// a query without a run and a commit finds none.
func Runs(ctx context.Context, v *View, q RunQuery) (out []document.Event, more int, err error) {
	var c condition
	c.addWithin(ctx)
	kinds := []any{fleet.Applied, fleet.Failed, fleet.RolledBack, fleet.Repaired}
	c.add("e.run > 0 AND k.text IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	switch {
	case q.Run > 0:
		c.add("e.run = ?", q.Run)
	case q.Commit != "" && !strings.ContainsAny(q.Commit, "*?["):
		c.add("e.about IN (SELECT about FROM sets WHERE module IN (SELECT n FROM words WHERE text GLOB ?))", q.Commit+"*")
	default:
		return nil, 0, nil
	}
	if q.Target != "" {
		n, err := v.find(ctx, q.Target)
		if errors.Is(err, fleet.ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		c.add("e.target = ?", n)
	}
	where := " WHERE " + strings.Join(c.text, " AND ")
	var all int
	err = v.read.QueryRowContext(ctx, `
    SELECT COUNT(*) FROM events e JOIN words k ON k.n = e.kind LEFT JOIN targets t ON t.target = e.target`+where,
		c.args...).Scan(&all)
	if err != nil {
		return nil, 0, v.unread(err)
	}
	rows, err := v.read.QueryContext(ctx, eventQuery+where+" ORDER BY e.seq DESC, e.place DESC LIMIT ?",
		slices.Concat(c.args, []any{q.Limit})...)
	if err != nil {
		return nil, 0, v.unread(err)
	}
	defer rows.Close()
	if out, err = events(rows); err != nil {
		return nil, 0, v.unread(err)
	}
	return out, max(0, all-len(out)), nil
}
