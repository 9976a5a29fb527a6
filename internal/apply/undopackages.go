package apply

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// groupBack undoes changes of packages in one transaction, including changes that did not succeed:
// packages that require each other at the same version cannot be undone one by one. If the transaction
// fails, each package is undone by itself as far as possible.
func (r *backward) groupBack(indexes []int) error {
	var g verb.Group
	var todo []int
	var moves []*verb.GroupMove
	for _, i := range indexes {
		v, _ := verbs.For(r.machine.Step(i).Verb)
		group, ok := v.(verb.Group)
		if !ok || !r.effects[i].changed {
			r.machine.Set(i, Undone)
			continue
		}
		g = group
		todo = append(todo, i)
		moves = append(moves, &verb.GroupMove{Step: r.machine.Step(i), From: r.effects[i].to, To: r.effects[i].from,
			Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
	}
	if len(todo) == 0 {
		return nil
	}
	r.current = todo[0]
	if err := r.packages.configurePackages(); err != nil {
		r.note(err.Error()) // the restored package may be the repair
	}
	recs := make([]journal.Record, len(todo))
	for k, i := range todo {
		recs[k] = r.intent(i, moves[k].From, moves[k].To)
	}
	if err := r.log(recs...); err != nil {
		return err
	}
	return r.wentBack(todo, moves, r.packages.allBack(g,
		append(slices.Clone(moves), r.packages.stay(todo)...))[:len(todo)])
}

// wentBack records the result of each package, and notes the manual command for each package that was
// not restored.
func (r *backward) wentBack(todo []int, moves []*verb.GroupMove, errs []error) error {
	var stuck []*verb.GroupMove
	recs := make([]journal.Record, len(todo))
	for k, i := range todo {
		a := r.plan.Changes[i].Addr
		recs[k] = journal.Record{Kind: journal.Result, Change: i, Addr: a, Back: true}
		if errs[k] != nil {
			recs[k].Error = errs[k].Error()
			stuck = append(stuck, moves[k])
			r.note(fmt.Sprintf("cannot undo %s: %v", a, errs[k]))
		}
	}
	r.packages.noteStuck(stuck)
	if err := r.settleMachine(); err != nil {
		return cutShort(err)
	}
	for k, i := range todo {
		r.taken(i, errs[k] == nil)
	}
	return r.log(recs...)
}

// stay returns moves that keep the installed packages of the same transaction that were not changed,
// or are already undone. Without them, apt could change these packages to satisfy unfinished packages.
func (r *packages) stay(todo []int) []*verb.GroupMove {
	if r.unfinished == "" {
		return nil
	}
	var out []*verb.GroupMove
	for _, down := range []bool{true, false} {
		i := slices.Min(todo)
		for first := true; i >= 0 && i < len(r.plan.Changes); first = false {
			op := r.machine.opOf(i)
			if op != OpGroup && op != OpRecord {
				break
			}
			if (down || !first) && op == OpGroup && !slices.Contains(todo, i) {
				out = append(out, r.standing(i)...)
			}
			i += map[bool]int{true: -1, false: 1}[down]
		}
	}
	return out
}

// allBack executes the moves and returns one error for each, nil on success.
func (r *packages) allBack(g verb.Group, moves []*verb.GroupMove) []error {
	errs := make([]error, len(moves))
	err := r.moveAll(g, moves)
	if err == nil || len(moves) == 1 {
		errs[0] = err
		return errs
	}
	r.note(fmt.Sprintf("cannot undo all packages in one transaction; each package is now undone by itself: %v", err))
	for k, m := range moves {
		if m.InSync || r.isThere(m) {
			continue
		}
		if err := r.configurePackages(); err != nil {
			r.note(err.Error())
		}
		one := []*verb.GroupMove{m}
		if errs[k] = r.rejectOthers(one, nil); errs[k] == nil { // otherwise apt would remove the other packages
			errs[k] = r.moveAll(g, one)
		}
	}
	for k, m := range moves { // another move may have installed or removed it
		switch there := r.isThere(m); {
		case there:
			errs[k] = nil
		case errs[k] == nil:
			errs[k] = err
		}
	}
	return errs
}

func (r *packages) isThere(m *verb.GroupMove) bool {
	v, _ := verbs.For(m.Step.Verb)
	return r.reached(v, m)
}
