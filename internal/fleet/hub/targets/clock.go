package targets

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// OnClock records the clock of an agent. An event reports when the clock becomes wrong, and when it
// is right again.
func (g *Registry) OnClock(ctx context.Context, id fleet.TargetID, clock time.Time) {
	ahead := clock.Sub(g.Now())
	wrong := ahead.Abs() > pki.MaxSkew
	if !wrong {
		ahead = 0
	}
	g.View.RecordClock(id, ahead)
	g.mu.Lock()
	was := g.skewed[id]
	if wrong && g.skewed == nil {
		g.skewed = map[fleet.TargetID]bool{}
	}
	if wrong {
		g.skewed[id] = true
	} else {
		delete(g.skewed, id)
	}
	g.mu.Unlock()
	if wrong == was {
		return
	}
	e := fleet.HubEvent{Kind: fleet.ClockSkewed, Target: id, Text: "its clock is right again"}
	if wrong {
		e.Text, e.Error = "", skewText(ahead)
	}
	if err := g.Events.Record(ctx, e); err != nil {
		g.Warn(err.Error())
	}
}

func skewText(ahead time.Duration) string {
	if ahead < 0 {
		return fmt.Sprintf(
			"its clock is %s behind the hub's: times in its reports are wrong, and scheduled work runs too late",
			(-ahead).Round(time.Second))
	}
	return fmt.Sprintf(
		"its clock is %s ahead of the hub's: times in its reports are wrong, and scheduled work runs too early",
		ahead.Round(time.Second))
}
