package apply

import (
	"cmp"
	"math"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// actions are the notified actions of a run: which changes notify which action, and which actions wait
// for their turn. After a notification is in the journal, neither a failure nor a crash loses it.
type actions struct {
	plan *plan.Plan
	run  int                  // the number of the run
	base []journal.PendingAct // the actions that waited before the run
	// pending are the actions that wait. An action that ran is not in it.
	pending map[addr.Addr]journal.PendingAct
	// listeners are the changes, by index, that each address notifies.
	listeners map[addr.Addr][]int
	// onFailure are the ACT steps of the list, in the order in which they run for one failure.
	onFailure []actOf
	// ran records each action that ran for a failure: true if it succeeded.
	ran map[listener]bool
}

// actOf is an ACT step of the list, with the addresses that trigger it.
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

func newActions(in Input) *actions {
	a := &actions{plan: in.Plan, run: in.Header.Run, base: in.Base.Pending,
		listeners: map[addr.Addr][]int{}, ran: map[listener]bool{}}
	a.reset()
	for k, c := range in.Plan.Changes {
		for _, cause := range c.Cause {
			a.listeners[cause] = append(a.listeners[cause], k)
		}
	}
	for _, s := range in.List {
		if s.Verb == step.Act {
			a.onFailure = append(a.onFailure, actOf{s, addrs(s.All("on")), addrs(s.All("on_failure"))})
		}
	}
	slices.SortStableFunc(a.onFailure, func(a, b actOf) int { return cmp.Compare(a.turn(), b.turn()) })
	return a
}

// reset makes exactly the actions pending that waited before the run.
func (a *actions) reset() {
	a.pending = map[addr.Addr]journal.PendingAct{}
	for _, p := range a.base {
		a.pending[p.Addr] = p
	}
}

// notify makes the actions pending that change i notifies, and returns the records that say so.
func (a *actions) notify(i int) []journal.Record {
	from := a.plan.Changes[i].Addr
	var recs []journal.Record
	for _, k := range a.listeners[from] {
		c := a.plan.Changes[k]
		p := a.pending[c.Addr]
		if slices.Contains(p.Cause, from) && p.Run == a.run {
			continue
		}
		a.pending[c.Addr] = journal.PendingAct{Addr: c.Addr, Step: c.Step, Cause: append(slices.Clone(p.Cause), from),
			Run: a.run}
		recs = append(recs, journal.Record{Kind: journal.Pending, Change: k, Addr: c.Addr, Cause: []addr.Addr{from}})
	}
	return recs
}

// replay repeats the notification of a record.
func (a *actions) replay(rec journal.Record) {
	p := a.pending[rec.Addr]
	if p.Run != a.run {
		p = journal.PendingAct{Addr: rec.Addr, Step: a.plan.Changes[rec.Change].Step, Cause: slices.Clone(p.Cause),
			Run: a.run}
	}
	p.Cause = append(p.Cause, rec.Cause...)
	a.pending[rec.Addr] = p
}

// renew makes the action of change i pending again for all of its causes.
func (a *actions) renew(i int) {
	c := a.plan.Changes[i]
	a.pending[c.Addr] = journal.PendingAct{Addr: c.Addr, Step: c.Step, Cause: slices.Clone(c.Cause), Run: a.run}
}

// renewAfterUndo makes the action of change i pending for its causes from before the run and in it.
func (a *actions) renewAfterUndo(i int) {
	a.renew(i)
	p := a.pending[a.plan.Changes[i].Addr]
	p.Cause = union(a.before(p.Addr).Cause, p.Cause)
	a.pending[p.Addr] = p
}

// withdraw removes the notifications that an address made in this run.
func (a *actions) withdraw(from addr.Addr) {
	for _, k := range a.listeners[from] {
		act := a.plan.Changes[k].Addr
		p, ok := a.pending[act]
		if !ok || slices.Contains(a.before(act).Cause, from) {
			continue
		}
		p.Cause = slices.DeleteFunc(slices.Clone(p.Cause), func(x addr.Addr) bool { return x == from })
		a.pending[act] = p
		if len(p.Cause) == 0 {
			delete(a.pending, act)
		}
	}
}

// before returns an action as it waited before the run.
func (a *actions) before(act addr.Addr) journal.PendingAct {
	for _, p := range a.base {
		if p.Addr == act {
			return p
		}
	}
	return journal.PendingAct{}
}

// notifiers returns the addresses in cause that made an action pending. The list can contain the same
// action several times, each time with other causes.
func (a *actions) notifiers(act addr.Addr, cause []addr.Addr) []addr.Addr {
	return slices.DeleteFunc(slices.Clone(a.pending[act].Cause),
		func(x addr.Addr) bool { return !slices.Contains(cause, x) })
}

// left returns the pending actions: first in the order of the plan, then in the order of the base.
func (a *actions) left() []journal.PendingAct {
	var out []journal.PendingAct
	seen := map[addr.Addr]bool{}
	add := func(act addr.Addr) {
		if p, ok := a.pending[act]; ok && !seen[act] {
			seen[act] = true
			out = append(out, p)
		}
	}
	for _, c := range a.plan.Changes {
		add(c.Addr)
	}
	for _, p := range a.base {
		add(p.Addr)
	}
	return out
}

// union is a list with the additional addresses of another list.
func union(a, b []addr.Addr) []addr.Addr {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// listener is an action for the failure of a change.
type listener struct {
	change int
	act    addr.Addr
}
