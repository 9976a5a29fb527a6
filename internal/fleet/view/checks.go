package view

import (
	"context"
	"database/sql"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// ChecksOf returns the newest results of checks of scopes, by target, sorted by scope and check. Without scopes it
// returns all. A target is missing if its newest report has no results. The results can be outdated: the caller must
// not count results of targets that are not connected.
func ChecksOf(ctx context.Context, v *View, scopes ...string) (map[fleet.TargetID][]fleet.CheckResult, error) {
	where, args := "", []any{}
	if len(scopes) > 0 {
		list, err := asJSON(scopes)
		if err != nil {
			return nil, err
		}
		where, args = "WHERE c.scope IN (SELECT n FROM words WHERE text IN (SELECT value FROM json_each(?)))", []any{list}
	}
	return checksWhere(ctx, v, where, args...)
}

// checksWhere returns the results that match a condition.
func checksWhere(ctx context.Context, v *View, where string,
	args ...any) (map[fleet.TargetID][]fleet.CheckResult, error) {
	rows, err := v.read.QueryContext(ctx, `
    SELECT w.text, s.text, n.text, d.text, o.text, c.since, c.text
    FROM checks c JOIN words w ON w.n = c.target JOIN words s ON s.n = c.scope JOIN words n ON n.n = c.name
    JOIN words d ON d.n = c.digest JOIN words o ON o.n = c.outcome
    `+where+` ORDER BY s.text, n.text`, args...)
	if err != nil {
		return nil, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	out := map[fleet.TargetID][]fleet.CheckResult{}
	for rows.Next() {
		var id fleet.TargetID
		var r fleet.CheckResult
		if err := rows.Scan(&id, &r.Scope, &r.Check, &r.Digest, &r.Outcome, &r.Since, &r.Text); err != nil {
			return nil, v.unread(err)
		}
		out[id] = append(out[id], r)
	}
	if err := rows.Err(); err != nil {
		return nil, v.unread(err)
	}
	return out, nil
}

// checksOn returns the results of a target for display. A failure remains until a new report. Other results become
// unknown if the target is silent, as states of modules do.
func checksOn(ctx context.Context, v *View, target int64, id fleet.TargetID,
	on moduleOnTarget) ([]fleet.CheckResult, error) {
	all, err := checksWhere(ctx, v, "WHERE c.target = ?", target)
	out := all[id]
	for i := range out {
		if on.cloned || on.silent && out[i].Outcome != fleet.CheckFailed {
			out[i].Outcome = fleet.CheckUnknown
		}
	}
	return out, err
}

// checkRow is a row of the table checks without its target.
type checkRow struct {
	scope, name, digest, outcome, since int64
	text                                string
}

// checks replaces the results of checks of a target. It writes only if they have changed.
func (t *tx) checks(target int64, reported []fleet.CheckResult) error {
	had, err := t.checkRows(target)
	if err != nil || len(had) == 0 && len(reported) == 0 {
		return err
	}
	var now []checkRow
	for _, r := range fleet.ValidChecks(reported) {
		words, err := t.numbers(r.Scope, r.Check, r.Digest, string(r.Outcome))
		if err != nil {
			return err
		}
		now = append(now, checkRow{words[0], words[1], words[2], words[3], r.Since, r.Text})
	}
	slices.SortFunc(now, compareChecks)
	if slices.Equal(had, now) {
		return nil
	}
	if err := t.exec("DELETE FROM checks WHERE target = ?", target); err != nil {
		return err
	}
	for _, r := range now {
		err := t.exec("INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?)", target, r.scope, r.name, r.digest, r.outcome,
			r.since, r.text)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRows returns the stored results of a target, in the order of compareChecks.
func (t *tx) checkRows(target int64) (out []checkRow, err error) {
	rows, err := t.query(
		"SELECT scope, name, digest, outcome, since, text FROM checks WHERE target = ? ORDER BY scope, name", target)
	if err != nil {
		return nil, err
	}
	defer func(rows *sql.Rows) { _ = rows.Close() }(rows)
	for rows.Next() {
		var r checkRow
		if err := rows.Scan(&r.scope, &r.name, &r.digest, &r.outcome, &r.since, &r.text); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func compareChecks(a, b checkRow) int {
	if a.scope != b.scope {
		return int(a.scope - b.scope)
	}
	return int(a.name - b.name)
}
