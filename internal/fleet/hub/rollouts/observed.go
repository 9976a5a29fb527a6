package rollouts

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// Observed contains the time since which each target has its health. A new leader begins again: then members
// must be ready for the minimum time again. It belongs to one goroutine. The zero value is ready for use.
type Observed struct {
	at          map[fleet.TargetID]observation
	differences differences
}

type observation struct {
	health rollout.Health
	since  int64
}

// Restart begins the observation again, because the clock of the hub jumped.
func (o *Observed) Restart() { o.at = nil }

func (o *Observed) since(id fleet.TargetID, h rollout.Health, now int64) int64 {
	if o.at == nil {
		o.at = map[fleet.TargetID]observation{}
	}
	if was, ok := o.at[id]; ok && was.health == h {
		return was.since
	}
	o.at[id] = observation{h, now}
	return now
}
