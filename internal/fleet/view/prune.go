package view

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"
)

// Prune deletes old events and unused texts. It may be called at any time; once an hour is enough.
func (v *View) Prune(ctx context.Context, now time.Time) error {
	return v.update(ctx, "the removal of old rows", func(t *tx) error {
		said, err := t.said()
		if err != nil {
			return err
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM events WHERE at < ?", []any{now.Add(-v.options.Age).UnixNano()}},
			{"DELETE FROM sets WHERE about NOT IN (SELECT about FROM events)", nil},
			{"DELETE FROM lists WHERE list NOT IN (SELECT list FROM assignments)", nil},
			{"DELETE FROM listed WHERE list NOT IN (SELECT list FROM lists)", nil},
			{"DELETE FROM parts WHERE n NOT IN (SELECT part FROM listed UNION SELECT top FROM assignments)", nil},
			{`
    DELETE FROM words WHERE n NOT IN (
    SELECT target FROM targets UNION SELECT target FROM assignments UNION SELECT module FROM listed UNION SELECT module FROM parts UNION SELECT commit_ FROM parts UNION SELECT bundle FROM parts
    UNION SELECT target FROM statuses UNION SELECT version FROM statuses UNION SELECT facts FROM statuses UNION SELECT zone FROM statuses UNION SELECT value FROM json_each(?)
    UNION SELECT target FROM sums UNION SELECT target FROM checks UNION SELECT target FROM places UNION SELECT supervisor FROM guests UNION SELECT scope FROM checks UNION SELECT name FROM checks UNION SELECT digest FROM checks UNION SELECT outcome FROM checks UNION SELECT target FROM events UNION SELECT kind FROM events UNION SELECT module FROM events UNION SELECT by FROM events UNION SELECT about FROM events UNION SELECT phrase FROM events UNION SELECT organization FROM events UNION SELECT module FROM sets)`, []any{said}},
		} {
			if err := t.exec(step.query, step.args...); err != nil {
				return err
			}
		}
		v.forget() // removed rows may be cached
		return nil
	})
}

// said returns the numbers of words in the reports about modules, as a JSON list.
func (t *tx) said() (string, error) {
	used := map[int64]bool{}
	err := t.eachRows(func(rows map[int64]row) {
		for module, r := range rows {
			used[module], used[r.commit], used[r.bundle], used[r.state] = true, true, true, true
		}
	})
	if err != nil {
		return "", err
	}
	return asJSON(slices.Collect(maps.Keys(used)))
}

func (t *tx) eachRows(each func(map[int64]row)) error {
	found, err := t.query("SELECT rows FROM modules")
	if err != nil {
		return err
	}
	defer found.Close()
	var b sql.RawBytes
	rows := map[int64]row{}
	for found.Next() {
		if err := found.Scan(&b); err != nil {
			return err
		}
		if err := unpackRows(b, rows); err != nil {
			return err
		}
		each(rows)
	}
	return found.Err()
}
