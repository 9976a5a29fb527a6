package apply

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
)

// result returns the result of the run at its end.
func (r *run) result() Result {
	res := Result{Run: r.header.Run, Failed: r.failed, Rescued: r.rescued, Checks: r.checks, Notes: r.notes, State: r.base}
	for i, c := range r.plan.Changes {
		if r.kept(i) {
			res.Changed++
		}
		if r.m.Status(i) == Stuck {
			res.Stays = append(res.Stays, c.Addr)
		}
		if s := r.m.Status(i); (s == Do || s == Barred) && (c.Action.Mutates() || c.Action == plan.Verify || c.Action == plan.Wait) {
			res.Remaining = append(res.Remaining, c.Addr)
		}
	}
	return res
}

// kept reports whether change i counts as changed: it took effect without a failure and is not undone.
// Actions follow from changes and do not count.
func (r *run) kept(i int) bool {
	s := r.m.Status(i)
	return r.fx[i].changed && (s == Done || s == Stuck) && r.faults[i] == nil && r.plan.Changes[i].Addr.Kind() != addr.KindAct
}
