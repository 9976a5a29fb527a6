package apply

import (
	"fmt"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb/act"
)

// act runs an action if an address in its cause notified it in this run or an earlier one. Otherwise
// it is skipped.
func (r *forward) act(i int) error {
	c, s := r.plan.Changes[i], r.machine.Step(i)
	if len(r.actions.notifiers(c.Addr, c.Cause)) == 0 {
		r.machine.Set(i, Skipped)
		r.event("skipped", i, "nothing that notifies it changed")
		return nil
	}
	if r.machine.AllBarred(r.actions.notifiers(c.Addr, c.Cause)) {
		r.machine.Set(i, Barred)
		r.event("skipped", i, "it is notified only by states in or after a block that failed")
		return nil
	}
	r.start(i)
	r.reloadFor(s)
	if err := r.log(journal.Record{Kind: journal.Intent, Change: i, Addr: c.Addr}); err != nil {
		return err
	}
	err := act.Run(r.ctx, r.Host, s, c.Stale)
	if err != nil && c.Stale {
		r.note(fmt.Sprintf("%s: %v", c.Addr, err))
		err = nil
	}
	if err != nil {
		return r.fail(i, StepFailed, err)
	}
	delete(r.actions.pending, c.Addr)
	r.effects[i].fired = true
	r.changed(i)
	fired := journal.Record{Kind: journal.Fired, Change: i, Addr: c.Addr, Cause: c.Cause}
	return r.log(append([]journal.Record{fired}, r.actions.notify(i)...)...) // an action can notify another
}

// forget removes change i from the bookkeeping of the run, as if it had never been made: its effect is
// cleared, and its notifications of actions are withdrawn.
func (r *run) forget(i int) {
	r.effects[i].changed, r.effects[i].moves = false, nil
	r.actions.withdraw(r.plan.Changes[i].Addr)
}
