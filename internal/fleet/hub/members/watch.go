package members

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/load"
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

// Alarms returns the alarms of missing copies, and of limits of hubs. Each hub checks by itself, so these alarms also
// exist while no hub leads.
func (h *HubStatus) Alarms() []assign.Alarm {
	all := h.limits.alarms()
	if lost, _ := h.redundancy.now(h.Now()); lost != "" {
		all = append(all, assign.Alarm{Kind: assign.Redundancy, Text: lost})
	}
	return all
}

// Redundancy returns the missing copies of the data, or "", and how many more hubs may fail.
func (h *HubStatus) Redundancy() (lost string, spare int) { return h.redundancy.now(h.Now()) }

// FollowLimits compares the loads of all hubs with their limits until ctx ends.
func (h *HubStatus) FollowLimits(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(load.Interval):
		}
		var hubs []string
		for _, m := range h.Records.Members.Values() {
			hubs = append(hubs, m.Name)
		}
		h.limits.note(hubs, h.loads(), h.Now())
	}
}
