package apply

import (
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// underWay returns the moves of packages that a run began and did not complete, according to its last
// records: forward to its goal, and back to the state before. Packages that had not begun are omitted,
// because that run does not manage them. So are packages in neither state, because another program has
// changed them since.
func (r *packages) underWay(recs []journal.Record) (on, back []*verb.GroupMove) {
	last := map[int]journal.Record{}
	for _, rec := range recs {
		if rec.Kind == journal.Intent && rec.Addr.Kind() == addr.KindPkg && rec.From != nil && rec.To != nil &&
			rec.Change < len(r.effects) {
			last[rec.Change] = rec
		}
	}
	for _, i := range slices.Sorted(maps.Keys(last)) {
		from, to, s := *last[i].From, *last[i].To, r.machine.Step(i)
		was := from
		if last[i].Back {
			was = to
		}
		now, err := pkg.Pkg{}.Observe(r.ctx, r.env, s)
		if err != nil || from.Package() == nil || to.Package() == nil {
			continue
		}
		if now.Same(was) && !r.remains(now, was) {
			there := r.standing(i)
			on, back = append(on, there...), append(back, there...)
			continue
		}
		p := now.Package()
		if p.Unfinished() || p.Version == from.Package().Version || p.Version == to.Package().Version {
			on = append(on, &verb.GroupMove{Step: s, From: now, To: to, Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
			back = append(back, &verb.GroupMove{Step: s, From: now, To: from, Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
		}
	}
	return on, back
}

// rejectOthers checks the packages that moves would change. It returns an error if one of them is in
// neither the moves nor the records.
func (r *packages) rejectOthers(moves []*verb.GroupMove, recs []journal.Record) error {
	also, _, err := pkg.Pkg{}.Foresee(r.ctx, r.env, moves)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	know := func(i *image.Image) {
		if i != nil && i.Package() != nil {
			for name := range i.Package().AlsoChanged {
				known[name] = true
			}
		}
	}
	for _, m := range moves {
		know(&m.To)
	}
	for _, rec := range recs {
		know(rec.From)
	}
	for _, name := range slices.Sorted(maps.Keys(also)) {
		if !known[name] {
			return fmt.Errorf("it would also change %s", name)
		}
	}
	return nil
}

// moveAll runs a transaction of packages. Unfinished packages of dpkg are finished in the same
// transaction. If the transaction fails, dpkg is repaired as far as possible, and the transaction is
// tried once more.
func (r *packages) moveAll(g verb.Group, moves []*verb.GroupMove) error {
	err := g.MoveAll(r.ctx, r.env, moves)
	if r.unfinished == "" {
		return err
	}
	if rerr := r.repairPackages(); rerr != nil {
		r.note(rerr.Error())
	}
	if err == nil || r.ctx.Err() != nil {
		return err
	}
	also := moves[0].AlsoChanged
	err = g.MoveAll(r.ctx, r.env, moves)
	moves[0].AlsoChanged = earlier(also, moves[0].AlsoChanged)
	return err
}

// earlier merges the packages that two attempts added. The state that the first attempt found has
// priority, because it is the state before the change.
func earlier(first, next map[string]string) map[string]string {
	if len(first) == 0 {
		return next
	}
	out := maps.Clone(first)
	for name, was := range next {
		if _, told := out[name]; !told {
			out[name] = was
		}
	}
	return out
}

// curesAny reports whether the transaction includes a package that dpkg cannot finish, or that an
// interrupted attempt left unfinished.
func (r *packages) curesAny(todo []int, moves []*verb.GroupMove) bool {
	return slices.ContainsFunc(moves, cures) || slices.ContainsFunc(todo,
		func(i int) bool { return r.brought(r.effects[i].found) })
}

// cures reports whether a move concerns a package that dpkg cannot finish: the transaction may install
// a missing dependency.
func cures(m *verb.GroupMove) bool {
	from, to := m.From.Package(), m.To.Package()
	return from != nil && to != nil && from.Unfinished()
}

// reached reports whether a package is in sync although its transaction failed.
func (r *packages) reached(v verb.Verb, m *verb.GroupMove) bool {
	now, err := v.Observe(r.ctx, r.env, m.Step)
	if err != nil || now.Package() == nil || m.To.Package() == nil || rests(now, m.To) {
		return false
	}
	p, want := now.Package(), m.To.Package().Version
	if p.Unfinished() || p.Leaving() && want != "" {
		return false
	}
	return p.Version == want || want == image.Candidate && p.Version != ""
}

// remains reports whether more than the state of to can be left of a package: its configuration, or
// packages that its installation added.
func (r *packages) remains(now, to image.Image) bool {
	return rests(now, to) || r.brought(to)
}

// rests reports whether configuration of a package exists that must be deleted in the state to.
func rests(now, to image.Image) bool {
	return now.Package() != nil && to.Package() != nil && now.Package().Rest() && to.Package().Purged
}

// brought reports whether a package exists, or is being installed, that the transaction added to its
// own packages.
func (r *packages) brought(from image.Image) bool {
	if from.Package() == nil || len(from.Package().AlsoChanged) == 0 {
		return false
	}
	p, err := r.Host.Packages()
	if err != nil {
		return false
	}
	names := slices.Sorted(maps.Keys(from.Package().AlsoChanged))
	now, err := p.Installed(r.ctx, names)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		one := now[name]
		return one.Version != from.Package().AlsoChanged[name] || one.Unfinished() || one.Leaving()
	})
}

// standing returns a move that keeps a package as it is, or none if the package is not completely
// installed.
func (r *packages) standing(i int) []*verb.GroupMove {
	s := r.machine.Step(i)
	now, err := pkg.Pkg{}.Observe(r.ctx, r.env, s)
	if err != nil || now.Package().Version == "" || now.Package().Unfinished() {
		return nil
	}
	return []*verb.GroupMove{{Step: s, From: now, To: now, InSync: true}}
}
