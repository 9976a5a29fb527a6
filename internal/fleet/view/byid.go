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
