package rollouts

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// resyncTime is the longest time in seconds for which a new leader waits for targets. It waits until most targets are
// connected, except for targets that were away before.
const resyncTime = 90

// world is a rollout.World. It is usable unless the head of the branch cannot be used for any target.
type world struct {
	rollout.World
	usable   bool
	requires requirements
}

func (f Fleet) world(all []assign.Desired, s *rollout.State) world {
	w := world{World: rollout.World{Targets: make(map[fleet.TargetID]rollout.Target, len(all)),
		Order: make([]fleet.TargetID, 0, len(all)), Up: f.Up, Jump: f.Jump, Eager: f.Eager,
		Limits: f.Head.Limits}}
	depends := f.dependences(all)
	w.requires = f.requirements()
	online, known := 0, 0
	for _, d := range all {
		t := f.target(d, s)
		w.usable = w.usable || d.Want != nil
		t.Waits, t.WaitsFor = depends.waits(d, t)
		if t.Lane != "" {
			t.Requires = w.requires.of(d)
		}
		w.Targets[d.Target.ID] = t
		w.Order = append(w.Order, d.Target.ID)
		if f.Targets[d.Target.ID].Contact > 0 && (t.Online || !s.Away(d.Target.ID)) {
			known++
			if t.Online {
				online++
			}
		}
	}
	slices.Sort(w.Order)
	w.Resync = f.Now-f.Up < resyncTime && online*100 < known*95
	w.Strategy = func(lane string, _ []rollout.Change) rollout.Strategy { return f.strategy(lane, namesOf(all)) }
	w.Declares = f.declares
	w.OpenFor = f.openFor(all)
	w.Cause = func(_ string, changes []rollout.Change) string { return f.cause(all, changes) }
	w.Author = func(string) (string, string) { return f.author() }
	return w
}

// namesOf returns the IDs of targets by name.
func namesOf(all []assign.Desired) map[string]fleet.TargetID {
	out := make(map[string]fleet.TargetID, len(all))
	for _, d := range all {
		out[d.Target.Name] = d.Target.ID
	}
	return out
}
