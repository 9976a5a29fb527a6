package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/unit"
)

// lasting checks at the end of a run that the units it started are still running. A unit that ends
// within a second of its start has failed. All units are checked; each ended unit is a failure, and
// the first one becomes the failure of the run.
func (r *forward) lasting() error {
	if r.failed != nil {
		return nil
	}
	for i, c := range r.plan.Changes {
		name, wanted := r.launched(i)
		if name == "" {
			continue
		}
		r.current = i
		err := unit.Lasts(r.ctx, r.Host, name, wanted)
		if err == nil {
			continue
		}
		if r.ctx.Err() != nil {
			r.interrupted()
			return nil
		}
		if c.Addr.Kind() == addr.KindAct {
			if perr := r.dueAgain(i); perr != nil {
				return perr
			}
		}
		if err := r.fail(i, StepFailed, err); err != errStopped {
			return err
		}
	}
	return nil
}

// launched returns the unit that change i of this run started, or "", and whether the unit must be
// running.
func (r *forward) launched(i int) (name string, wanted bool) {
	s := r.machine.Step(i)
	switch {
	case !r.effects[i].changed || r.machine.Status(i) != Done:
	case s.Verb == step.Unit && r.effects[i].to.Unit() != nil && unit.Running(r.effects[i].to.Unit().Active):
		return s.Args[0], true
	case s.Verb == step.Act && slices.Contains([]string{"start", "restart"}, s.Args[0]):
		return s.Args[1], false
	}
	return "", false
}

// dueAgain makes an action pending again whose unit ended after the action had run.
func (r *forward) dueAgain(i int) error {
	r.actions.renew(i)
	c := r.plan.Changes[i]
	return r.log(journal.Record{Kind: journal.Pending, Change: i, Addr: c.Addr, Cause: c.Cause})
}
