package view

import (
	"context"
	"errors"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// guestTargets returns the targets that run in the guests of a target.
func guestTargets(ctx context.Context, v *View, supervisor string) (map[fleet.TargetID]bool, error) {
	n, err := v.find(ctx, supervisor)
	if err != nil {
		return nil, err
	}
	guests, _, err := guestsOf(ctx, v, n)
	if err != nil {
		return nil, err
	}
	containers, _, err := relate(ctx, v, n, guests)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, 0, len(containers))
	for _, c := range containers {
		numbers = append(numbers, c.target)
	}
	ids, err := idsOf(ctx, v, numbers)
	if err != nil {
		return nil, err
	}
	out := map[fleet.TargetID]bool{}
	for _, id := range ids {
		out[id] = true
	}
	return out, nil
}

// idsOf returns the IDs of targets, in no order.
func idsOf(ctx context.Context, v *View, numbers []int64) (out []fleet.TargetID, err error) {
	list, err := asJSON(numbers)
	if err != nil {
		return nil, err
	}
	rows, err := v.read.QueryContext(ctx, "SELECT text FROM words WHERE n IN (SELECT value FROM json_each(?))", list)
	if err != nil {
		return nil, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id fleet.TargetID
		if err := rows.Scan(&id); err != nil {
			return nil, v.unread(err)
		}
		out = append(out, id)
	}
	if err := rows.Err(); err != nil {
		return nil, v.unread(err)
	}
	return out, nil
}

// maxNesting limits the depth of guests in guests.
const maxNesting = 8

// Related returns the supervisors of a target and the targets in its guests, at all depths. The organization of a user
// does not limit them. An unknown target has none.
func Related(ctx context.Context, v *View, id fleet.TargetID) ([]fleet.TargetID, error) {
	n, err := v.find(ctx, string(id))
	if errors.Is(err, fleet.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[int64]bool{n: true}
	level := []int64{n}
	for depth := 0; len(level) > 0 && depth < maxNesting; depth++ {
		var next []int64
		for _, supervisor := range level {
			guests, _, err := guestsOf(ctx, v, supervisor)
			if err != nil {
				return nil, err
			}
			containers, _, err := relate(ctx, v, supervisor, guests)
			if err != nil {
				return nil, err
			}
			for _, c := range containers {
				if !found[c.target] {
					found[c.target] = true
					next = append(next, c.target)
				}
			}
		}
		level = next
	}
	for above, depth := n, 0; depth < maxNesting; depth++ {
		s, err := supervisorSeen(ctx, v, above)
		if err != nil {
			return nil, err
		}
		if above = s.target; above == 0 || found[above] {
			break
		}
		found[above] = true
	}
	delete(found, n)
	return idsOf(ctx, v, slices.Collect(maps.Keys(found)))
}
