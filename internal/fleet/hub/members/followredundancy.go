package members

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
)

// FollowRedundancy repeats the check until ctx ends.
func (h *HubStatus) FollowRedundancy(ctx context.Context) error {
	if h.peers == nil || h.ExternalNats {
		return nil
	}
	for {
		if p, err := h.Hubs(ctx); err == nil {
			h.redundancy.saw(p, h.Now())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(redundancyEvery):
		}
	}
}

// RedundancyAlarms returns the alarm of missing copies. Each hub checks by itself, so the alarm
// also exists while no hub leads.
func (h *HubStatus) RedundancyAlarms() []assign.Alarm {
	if lost, _ := h.redundancy.now(h.Now()); lost != "" {
		return []assign.Alarm{{Kind: assign.Redundancy, Text: lost}}
	}
	return nil
}

// Redundancy returns the missing copies of the data, or "", and how many more hubs may fail.
func (h *HubStatus) Redundancy() (lost string, spare int) { return h.redundancy.now(h.Now()) }
