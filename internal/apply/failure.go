package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb/act"
)

// fail marks change i as failed, records this, and runs the actions for the failure.
func (r *run) fail(i int, class Class, err error) error {
	c, said := r.plan.Changes[i], r.masked(err.Error())
	if r.ctx.Err() != nil {
		r.halted, class = true, EngineFailed
	}
	r.machine.Set(i, Failed)
	r.failures[i] = &Failure{Class: class, Addr: c.Addr, Step: r.machine.Step(i).String(), Source: c.Source, Error: said}
	if r.failed == nil {
		r.failed = r.failures[i]
	}
	r.event("failed", i, said)
	rec := journal.Record{Kind: journal.Result, Change: i, Addr: c.Addr, Error: said}
	if r.effects[i].changed && !isPath(c.Addr) {
		rec.From, rec.To = known(r.effects[i].from), known(r.effects[i].to)
	}
	if lerr := r.log(rec); lerr != nil {
		return errors.Join(err, lerr)
	}
	if lerr := r.failureActs(i); lerr != nil {
		return lerr
	}
	return errStopped
}

// interrupted records that the user or the system stopped the run before its end.
func (r *run) interrupted() {
	r.halted = true
	if r.failed == nil {
		r.failed = &Failure{Class: EngineFailed, Error: "interrupted before the end"}
	}
}

// failureActs runs the actions that on_failure connects with change i and that have not run for this
// failure. Actions that rescue its block run first.
func (r *run) failureActs(i int) error {
	a := r.plan.Changes[i].Addr
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), settleTime)
	defer cancel()
	for _, l := range r.actions.onFailure {
		at := listener{i, l.step.Addr()}
		if _, ran := r.actions.ran[at]; ran || !slices.Contains(l.onFailure, a) {
			continue
		}
		rec := journal.Record{Kind: journal.Fired, Change: i, Addr: l.step.Addr(), Cause: []addr.Addr{a}}
		err := act.Run(ctx, r.Host, l.step, false)
		if r.actions.ran[at] = err == nil; err != nil {
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

// goesOnAfter decides whether the run continues after its new failures. It continues if each failure
// was rescued or belongs to a section, and still ends as failed. Otherwise the first other failure
// ends the run. A run with the policy undo is undone also after a rescued failure.
func (r *run) goesOnAfter() bool {
	var failed []int
	for i := range r.plan.Changes {
		if f := r.failures[i]; f != nil && r.machine.Status(i) == Failed && !slices.Contains(r.rescued, f) {
			failed = append(failed, i)
		}
	}
	for _, i := range failed {
		if r.header.OnFailure == FailureUndo || !r.wasRescued(i) && len(r.sections(i)) == 0 {
			r.failed = r.failures[i]
			return false
		}
	}
	for _, i := range failed {
		r.rescued = append(r.rescued, r.failures[i])
		if r.wasRescued(i) {
			r.note(fmt.Sprintf("%s failed and was rescued; states that do not come after it continue",
				strings.Join(r.machine.Rescue(i), ", ")))
			continue
		}
		for _, s := range r.sections(i) {
			r.machine.Bar(s)
			r.note(fmt.Sprintf("%s failed; states that do not depend on it continue", s.Name))
		}
	}
	r.failed = nil
	return true
}

// wasRescued reports whether change i is in a block and all of its rescue actions succeeded.
func (r *run) wasRescued(i int) bool {
	all := r.machine.rescuers(i)
	return len(all) > 0 && !slices.ContainsFunc(all, func(x rescue) bool {
		ok, ran := r.actions.ran[listener{i, x.act}]
		return !ran || !ok
	})
}

// sections returns the sections of change i.
func (r *run) sections(i int) []Section {
	a := r.plan.Changes[i].Addr
	return slices.DeleteFunc(slices.Clone(r.Sections), func(s Section) bool { return !slices.Contains(s.Addrs, a) })
}
