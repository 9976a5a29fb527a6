package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
	"fettle.dev/fettle/internal/verb/verbs"
)

// groupBack undoes changes of packages in one transaction, including changes that did not succeed:
// packages that require each other at the same version cannot be undone one by one. If the transaction
// fails, each package is undone by itself as far as possible.
func (r *run) groupBack(indexes []int) error {
	var g verb.Group
	var todo []int
	var moves []*verb.GroupMove
	for _, i := range indexes {
		v, _ := verbs.For(r.m.Step(i).Verb)
		group, ok := v.(verb.Group)
		if !ok || !r.fx[i].changed {
			r.m.Set(i, Undone)
			continue
		}
		g = group
		todo = append(todo, i)
		moves = append(moves, &verb.GroupMove{Step: r.m.Step(i), From: r.fx[i].to, To: r.fx[i].from, Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
	}
	if len(todo) == 0 {
		return nil
	}
	r.at = todo[0]
	if err := r.configurePackages(); err != nil {
		r.note(err.Error()) // the restored package may be the repair
	}
	recs := make([]journal.Record, len(todo))
	for k, i := range todo {
		recs[k] = r.intent(i, moves[k].From, moves[k].To)
	}
	if err := r.log(recs...); err != nil {
		return err
	}
	return r.wentBack(todo, moves, r.allBack(g, append(slices.Clone(moves), r.stay(todo)...))[:len(todo)])
}

// stay returns moves that keep the installed packages of the same transaction that were not changed,
// or are already undone. Without them, apt could change these packages to satisfy unfinished packages.
func (r *run) stay(todo []int) []*verb.GroupMove {
	if r.halves == "" {
		return nil
	}
	var out []*verb.GroupMove
	for _, down := range []bool{true, false} {
		i := slices.Min(todo)
		for first := true; i >= 0 && i < len(r.plan.Changes); first = false {
			op := r.m.opOf(i)
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

// standing returns a move that keeps a package as it is, or none if the package is not completely
// installed.
func (r *run) standing(i int) []*verb.GroupMove {
	s := r.m.Step(i)
	now, err := pkg.Pkg{}.Observe(r.ctx, r.env, s)
	if err != nil || now.Package.Version == "" || now.Package.Unfinished() {
		return nil
	}
	return []*verb.GroupMove{{Step: s, From: now, To: now, Stays: true}}
}

// allBack executes the moves and returns one error for each, nil on success.
func (r *run) allBack(g verb.Group, moves []*verb.GroupMove) []error {
	errs := make([]error, len(moves))
	err := r.moveAll(g, moves)
	if err == nil || len(moves) == 1 {
		errs[0] = err
		return errs
	}
	r.note(fmt.Sprintf("cannot undo all packages in one transaction; each package is now undone by itself: %v", err))
	for k, m := range moves {
		if m.Stays || r.isThere(m) {
			continue
		}
		if err := r.configurePackages(); err != nil {
			r.note(err.Error())
		}
		one := []*verb.GroupMove{m}
		if errs[k] = r.besides(one, nil); errs[k] == nil { // otherwise apt would remove the other packages
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

func (r *run) isThere(m *verb.GroupMove) bool {
	v, _ := verbs.For(m.Step.Verb)
	return r.reached(v, m)
}

// wentBack records the result of each package, and notes the manual command for each package that was
// not restored.
func (r *run) wentBack(todo []int, moves []*verb.GroupMove, errs []error) error {
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
	r.noteStuck(stuck)
	if err := r.settleMachine(); err != nil {
		return cutShort(err)
	}
	for k, i := range todo {
		r.taken(i, errs[k] == nil)
	}
	return r.log(recs...)
}

func (r *run) noteStuck(stuck []*verb.GroupMove) {
	if len(stuck) == 0 {
		return
	}
	names := make([]string, len(stuck))
	for k, m := range stuck {
		names[k] = m.Step.Args[0]
		if now, err := (pkg.Pkg{}).Observe(r.ctx, r.env, m.Step); err == nil {
			m.From = now
		}
	}
	r.note(r.withCommand(fmt.Errorf("not undone: %s", strings.Join(names, ", ")), stuck).Error())
}

// leaveWhole repairs the unfinished state of dpkg that no change of the run has finished, such as
// dependencies and triggers of other packages.
func (r *run) leaveWhole() {
	if r.broke && r.m.Back {
		if err := r.configurePackages(); err != nil {
			r.note(err.Error())
		}
	}
	if err := r.repairPackages(); err != nil {
		r.note(err.Error())
	}
}

// remains reports whether more than the state of to can be left of a package: its configuration, or
// packages that its installation added.
func (r *run) remains(now, to image.Image) bool {
	return rests(now, to) || r.brought(to)
}

// rests reports whether configuration of a package exists that must be deleted in the state to.
func rests(now, to image.Image) bool {
	return now.Package != nil && to.Package != nil && now.Package.Rest() && to.Package.Purged
}

// brought reports whether a package exists, or is being installed, that the transaction added to its
// own packages.
func (r *run) brought(from image.Image) bool {
	if from.Package == nil || len(from.Package.Also) == 0 {
		return false
	}
	p, err := r.Host.Packages()
	if err != nil {
		return false
	}
	names := slices.Sorted(maps.Keys(from.Package.Also))
	now, err := p.Installed(r.ctx, names)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		one := now[name]
		return one.Version != from.Package.Also[name] || one.Unfinished() || one.Leaving()
	})
}
