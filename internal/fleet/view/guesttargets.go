package view

import (
	"context"

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
	list, err := asJSON(numbers)
	if err != nil {
		return nil, err
	}
	rows, err := v.read.QueryContext(ctx, "SELECT text FROM words WHERE n IN (SELECT value FROM json_each(?))", list)
	if err != nil {
		return nil, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	out := map[fleet.TargetID]bool{}
	for rows.Next() {
		var id fleet.TargetID
		if err := rows.Scan(&id); err != nil {
			return nil, v.unread(err)
		}
		out[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, v.unread(err)
	}
	return out, nil
}
