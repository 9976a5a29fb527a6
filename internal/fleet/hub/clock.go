package hub

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// clockOf records the clock of an agent. An event reports when the clock becomes wrong, and when it
// is right again.
func (h *Hub) clockOf(ctx context.Context, id fleet.TargetID, clock time.Time) {
	ahead := clock.Sub(h.now())
	wrong := ahead.Abs() > pki.MaxSkew
	if !wrong {
		ahead = 0
	}
	h.view.RecordClock(id, ahead)
	h.mu.Lock()
	was := h.skewed[id]
	if wrong && h.skewed == nil {
		h.skewed = map[fleet.TargetID]bool{}
	}
	if wrong {
		h.skewed[id] = true
	} else {
		delete(h.skewed, id)
	}
	h.mu.Unlock()
	if wrong == was {
		return
	}
	e := fleet.HubEvent{Kind: fleet.ClockSkewed, Target: id, Text: "its clock is right again"}
	if wrong {
		e.Text, e.Error = "", skewText(ahead)
	}
	if err := h.record(ctx, e); err != nil {
		h.warn(err.Error())
	}
}

func skewText(ahead time.Duration) string {
	if ahead < 0 {
		return fmt.Sprintf("its clock is %s behind the hub's: times in its reports are wrong, and scheduled work runs too late", (-ahead).Round(time.Second))
	}
	return fmt.Sprintf("its clock is %s ahead of the hub's: times in its reports are wrong, and scheduled work runs too early", ahead.Round(time.Second))
}
