package view

import (
	"context"
	"encoding/json"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// ByID returns all targets that the registry has, by ID. It reads only the rows that changed since the last call.
// The caller must not modify them.
func (v *View) ByID(ctx context.Context, now time.Time) (map[fleet.TargetID]document.Target, error) {
	v.listing.Lock()
	defer v.listing.Unlock()
	if err := v.refresh(ctx); err != nil {
		v.changes.add(nil, true)
		return nil, err
	}
	out := make(map[fleet.TargetID]document.Target, len(v.kept))
	for _, s := range v.kept {
		out[s.ID] = v.target(s, now)
	}
	return out, nil
}

// refresh reads the changed rows into kept. It needs the lock listing.
func (v *View) refresh(ctx context.Context) error {
	all, changed := v.changes.take()
	if all || len(changed) > len(v.kept)/2 {
		v.kept = make(map[int64]storedTarget, len(v.kept))
		return v.eachStored(ctx, "", v.keep)
	}
	if len(changed) == 0 {
		return nil
	}
	numbers := make([]int64, 0, len(changed))
	for n := range changed {
		numbers = append(numbers, n)
		delete(v.kept, n) // the row may not exist any more
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	return v.eachStored(ctx, "WHERE t.target IN (SELECT value FROM json_each(?))", v.keep, string(list))
}

func (v *View) keep(n int64, s storedTarget) { v.kept[n] = s }

// FactsOf returns the facts in the newest reports of the targets, by ID: see fleet.Status. A target without a report,
// or without facts, is missing.
func FactsOf(ctx context.Context, v *View) (map[fleet.TargetID]map[string]string, error) {
	rows, err := v.read.QueryContext(ctx, `
    SELECT w.text, f.text FROM statuses s JOIN words w ON w.n = s.target JOIN words f ON f.n = s.facts
    WHERE f.text <> ''`)
	if err != nil {
		return nil, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	out, known := map[fleet.TargetID]map[string]string{}, map[string]map[string]string{}
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, v.unread(err)
		}
		if _, ok := known[text]; !ok {
			var facts map[string]string
			if err := json.Unmarshal([]byte(text), &facts); err != nil {
				return nil, v.unread(damaged(err))
			}
			known[text] = facts
		}
		out[fleet.TargetID(id)] = known[text]
	}
	if err := rows.Err(); err != nil {
		return nil, v.unread(err)
	}
	return out, nil
}
