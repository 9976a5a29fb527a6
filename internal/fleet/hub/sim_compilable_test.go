package hub

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// compilable checks that an agent has each module that its root bundle names, or knows that it has not.
func (a *simAgent) compilable(run machine.Run) {
	r := a.sim.site.of(run.Want.Root.Revision.Commit)
	if r == nil || len(run.Want.Labels) == 0 || !a.sim.names(r) {
		return
	}
	for _, m := range []string{"modules/base", "modules/" + run.Want.Labels["role"]} {
		if !slices.ContainsFunc(run.Want.Modules, func(as fleet.Assigned) bool { return as.Module == m }) &&
			!slices.Contains(run.Absent, m) {
			a.sim.fault("%s cannot compile %d.%d: it has no %s", a.name, run.Want.Epoch, run.Want.Generation, m)
		}
	}
}
