package apply

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/act"
	"fettle.dev/fettle/internal/verb/check"
)

// actOf is an ACT step (a lazy action) of the list, with the addresses that trigger it.
type actOf struct {
	step          step.Step
	on, onFailure []addr.Addr
}

// turn is the sort key of the actions for one failure: actions that rescue a block run first, inner
// blocks before outer blocks.
func (a actOf) turn() int {
	if _, ok := a.step.Lookup("rescue"); ok {
		return len(a.onFailure)
	}
	return math.MaxInt
}

// settled returns the records of the actions that change i notifies, and adds these actions to
// r.pending. After the records are durable, neither a failure nor a crash loses a notification.
func (r *run) settled(i int) []journal.Record {
	a := r.plan.Changes[i].Addr
	var recs []journal.Record
	for _, k := range r.listeners[a] {
		c := r.plan.Changes[k]
		p := r.pending[c.Addr]
		if slices.Contains(p.Cause, a) && p.Run == r.header.Run {
			continue
		}
		p = journal.PendingAct{Addr: c.Addr, Step: c.Step, Cause: append(slices.Clone(p.Cause), a), Run: r.header.Run}
		r.pending[c.Addr] = p
		recs = append(recs, journal.Record{Kind: journal.Pending, Change: k, Addr: c.Addr, Cause: []addr.Addr{a}})
	}
	return recs
}

// forget removes change i from the bookkeeping of the run, as if it had never been made: its effect is
// cleared, and its notifications of actions are withdrawn.
func (r *run) forget(i int) {
	fx := &r.fx[i]
	fx.changed, fx.moves = false, nil
	a := r.plan.Changes[i].Addr
	for _, k := range r.listeners[a] {
		act := r.plan.Changes[k].Addr
		p, ok := r.pending[act]
		if !ok || slices.Contains(r.basePending(act).Cause, a) {
			continue
		}
		p.Cause = slices.DeleteFunc(slices.Clone(p.Cause), func(x addr.Addr) bool { return x == a })
		r.pending[act] = p
		if len(p.Cause) == 0 {
			delete(r.pending, act)
		}
	}
}

func (r *run) basePending(a addr.Addr) journal.PendingAct {
	for _, p := range r.base.Pending {
		if p.Addr == a {
			return p
		}
	}
	return journal.PendingAct{}
}

// act runs an action if an address in its cause notified it in this run or an earlier one. Otherwise
// it is skipped.
func (r *run) act(i int) error {
	c, s := r.plan.Changes[i], r.m.Step(i)
	if len(r.notifiers(c.Addr, c.Cause)) == 0 {
		r.m.Set(i, Skipped)
		r.event("skipped", i, "nothing that notifies it changed")
		return nil
	}
	if r.m.Out(r.notifiers(c.Addr, c.Cause)) {
		r.m.Set(i, Barred)
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
	delete(r.pending, c.Addr)
	r.fx[i].fired = true
	r.changed(i)
	fired := journal.Record{Kind: journal.Fired, Change: i, Addr: c.Addr, Cause: c.Cause}
	return r.log(append([]journal.Record{fired}, r.settled(i)...)...) // an action can notify another
}

// notifiers returns the addresses in cause that made the action a pending. The list can contain the
// same action several times, each time with other causes.
func (r *run) notifiers(a addr.Addr, cause []addr.Addr) []addr.Addr {
	return slices.DeleteFunc(slices.Clone(r.pending[a].Cause), func(x addr.Addr) bool { return !slices.Contains(cause, x) })
}

// failureActs runs the actions that on_failure connects with change i and that have not run for this
// failure. Actions that rescue its block run first.
func (r *run) failureActs(i int) error {
	a := r.plan.Changes[i].Addr
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), settleTime)
	defer cancel()
	for _, l := range r.acts {
		at := listener{i, l.step.Addr()}
		if _, ran := r.told[at]; ran || !slices.Contains(l.onFailure, a) {
			continue
		}
		rec := journal.Record{Kind: journal.Fired, Change: i, Addr: l.step.Addr(), Cause: []addr.Addr{a}}
		err := act.Run(ctx, r.Host, l.step, false)
		if r.told[at] = err == nil; err != nil {
			rec.Error = r.masked(err.Error())
			r.note(fmt.Sprintf("%s, notified by the failure of %s, failed too: %v", l.step.Addr(), a, err))
		} else {
			r.note(fmt.Sprintf("%s ran, notified by the failure of %s", l.step.Addr(), a))
		}
		if err := r.log(rec); err != nil {
			return err
		}
	}
	return nil
}

// wait executes a WAIT step, which waits until a condition holds. It changes nothing, so a recovered
// run waits again. If the condition does not hold within the time limit, the run fails.
func (r *run) wait(i int) error {
	r.start(i)
	err := check.Run(r.ctx, r.Host, r.Net, r.m.Step(i))
	switch {
	case err != nil && r.ctx.Err() != nil:
		return nil // the run was cancelled, so the condition has not failed
	case err != nil:
		return r.fail(i, StepFailed, err)
	}
	r.m.Set(i, Done)
	r.event("done", i, "")
	return nil
}

// check executes a CHECK step after the changes of the run. All checks run; the first failed check
// becomes the failure of the run.
func (r *run) check(i int) error {
	c, s := r.plan.Changes[i], r.m.Step(i)
	r.start(i)
	res := CheckResult{Addr: c.Addr, Source: c.Source, OK: true}
	err := check.Run(r.ctx, r.Host, r.Net, s)
	if err != nil && r.ctx.Err() != nil {
		return nil // the run was cancelled, so the check has not failed
	}
	r.m.Set(i, Done)
	if err != nil {
		res.OK, res.Error = false, r.masked(err.Error())
		r.m.Set(i, Failed)
		r.event("failed", i, res.Error)
		if r.failed == nil {
			r.failed = &Failure{Class: VerificationFailed, Addr: c.Addr, Step: s.String(), Source: c.Source, Error: res.Error}
		}
	} else {
		r.event("done", i, "")
	}
	r.checks = append(r.checks, res)
	if err := r.log(journal.Record{Kind: journal.Checked, Change: i, Addr: c.Addr, Error: res.Error}); err != nil {
		return err
	}
	if err != nil {
		return r.failureActs(i)
	}
	return nil
}
