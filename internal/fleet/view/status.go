package view

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Status returns counts of the whole fleet.
func (v *View) Status(ctx context.Context, now time.Time) (document.Status, error) {
	s := document.Status{Format: document.StatusFormat, Standings: map[fleet.Standing]int{},
		States: map[document.State]int{}}
	all, err := v.entries(ctx, now)
	if err != nil {
		return s, err
	}
	for _, e := range all {
		s.Standings[e.Standing]++
		if e.Standing == fleet.Active {
			count(&s, e.document(now))
		}
	}
	text, args := within(ctx)
	err = v.read.QueryRowContext(ctx, `
    SELECT COUNT(DISTINCT module) FROM listed WHERE list IN (
        SELECT a.list FROM assignments a JOIN targets t ON t.target = a.target AND t.active AND `+text+`)`,
		args...).Scan(&s.Modules)
	if err != nil {
		return s, v.unread(err)
	}
	if fleet.BoundaryOf(ctx).All() { // the position shows the activity of the whole fleet
		s.Position, err = v.LogPosition(ctx)
	}
	return s, err
}

func count(s *document.Status, t document.Target) {
	s.Targets++
	s.States[t.State]++
	s.Drift += t.Drift
	for _, c := range []struct {
		is bool
		of *int
	}{{t.Connected, &s.Connected}, {t.Behind > 0, &s.Behind}, {t.Error != "", &s.Errors}, {t.Pin != nil, &s.Pinned},
		{t.Suspect != nil, &s.Suspect}, {t.Frozen != "" && t.Accepted == t.Assigned, &s.Frozen}} {
		if c.is {
			*c.of++
		}
	}
}
