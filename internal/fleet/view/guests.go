package view

import (
	"context"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// targetsByNumber returns the targets of containers that are within the boundary of a request.
func targetsByNumber(ctx context.Context, v *View, now time.Time, of map[string]seen) (map[int64]document.Target,
	error) {
	numbers := make([]int64, 0, len(of))
	for _, c := range of {
		numbers = append(numbers, c.target)
	}
	list, err := asJSON(numbers)
	if err != nil {
		return nil, err
	}
	out := map[int64]document.Target{}
	text, args := within(ctx)
	err = v.eachStored(ctx, "WHERE t.target IN (SELECT value FROM json_each(?)) AND "+text,
		func(n int64, s storedTarget) { out[n] = v.target(s, now) }, slices.Concat([]any{list}, args)...)
	return out, err
}

// fillGuests adds the guests and the supervisor of a target. States of guests are unknown if the target is unresponsive
// or cloned.
func fillGuests(ctx context.Context, v *View, d *document.TargetDetail, n int64, now time.Time,
	on moduleOnTarget) error {
	guests, more, err := guestsOf(ctx, v, n)
	if err != nil {
		return err
	}
	containers, conflicts, err := relate(ctx, v, n, guests)
	if err != nil {
		return err
	}
	found, err := targetsByNumber(ctx, v, now, containers)
	if err != nil {
		return err
	}
	d.MoreGuests = more
	for _, g := range guests {
		one := document.Guest{Name: g.Name, State: shownGuest(g.State, on), Conflict: conflicts[g.Name]}
		if t, ok := found[containers[g.Name].target]; ok {
			one.Target = &document.GuestTarget{ID: t.ID, Name: t.Name, State: t.State}
		}
		d.Guests = append(d.Guests, one)
	}
	d.Supervisor, err = supervisorOf(ctx, v, n, now)
	return err
}

func shownGuest(s fleet.GuestState, on moduleOnTarget) fleet.GuestState {
	if on.silent || on.cloned {
		return fleet.GuestUnknown
	}
	return s
}

// supervisorOf returns the supervisor of a target, or nil if there is none that the user of the request can see.
func supervisorOf(ctx context.Context, v *View, n int64, now time.Time) (*document.Supervisor, error) {
	s, err := supervisorSeen(ctx, v, n)
	if err != nil || s.target == 0 {
		return nil, err
	}
	return describedSupervisor(ctx, v, s, now)
}

// describedSupervisor describes a supervisor within the boundary of the request; otherwise it returns nil.
func describedSupervisor(ctx context.Context, v *View, s seen, now time.Time) (*document.Supervisor, error) {
	found, err := targetsByNumber(ctx, v, now, map[string]seen{"": s})
	t, ok := found[s.target]
	if err != nil || !ok {
		return nil, err
	}
	guests, _, err := guestsOf(ctx, v, s.target)
	if err != nil {
		return nil, err
	}
	out := &document.Supervisor{ID: t.ID, Name: t.Name, State: t.State, Guest: s.guest}
	on := moduleOnTarget{silent: v.unresponsiveSince(t, now), cloned: t.State == document.Cloned}
	for _, g := range guests {
		if g.Name == s.guest {
			out.GuestState = shownGuest(g.State, on)
		}
	}
	return out, nil
}
