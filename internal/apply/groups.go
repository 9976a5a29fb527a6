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

// groupBack undoes package changes as one transaction, whatever was reached of
// them: packages that need one another at one version cannot go back one by
// one. Where the one transaction fails, each that can come back by itself does.
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
		r.note(err.Error()) // what comes back may be the cure
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

// stay are the packages of the same transaction that are there and were not
// reached, or are back already. Where dpkg was left with halves, apt would move
// them to what the halves need.
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

// standing is a move of a package from where it is to there, none when it is not
// there whole.
func (r *run) standing(i int) []*verb.GroupMove {
	s := r.m.Step(i)
	now, err := pkg.Pkg{}.Observe(r.ctx, r.env, s)
	if err != nil || now.Package.Version == "" || now.Package.Unfinished() {
		return nil
	}
	return []*verb.GroupMove{{Step: s, From: now, To: now, Stays: true}}
}

// allBack gives an error for each move that failed.
func (r *run) allBack(g verb.Group, moves []*verb.GroupMove) []error {
	errs := make([]error, len(moves))
	err := r.moveAll(g, moves)
	if err == nil || len(moves) == 1 {
		errs[0] = err
		return errs
	}
	r.note(fmt.Sprintf("cannot undo all packages in one transaction, so one by one: %v", err))
	for k, m := range moves {
		if m.Stays || r.isThere(m) {
			continue
		}
		if err := r.configurePackages(); err != nil {
			r.note(err.Error())
		}
		one := []*verb.GroupMove{m}
		if errs[k] = r.besides(one, nil); errs[k] == nil { // apt would rather remove the others
			errs[k] = r.moveAll(g, one)
		}
	}
	for k, m := range moves { // one may have come with another, or gone with it
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

// wentBack records each package, and says of those that did not come back what
// to type.
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

// leaveWhole repairs what dpkg was left with and no change of the run has
// finished: packages that came along, triggers of others.
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

// remains tells whether a package that is as in to may have left something that
// was not there then: its configuration, or what it had brought along.
func (r *run) remains(now, to image.Image) bool {
	return rests(now, to) || r.brought(to)
}

// rests tells whether there is configuration of a package that to wants deleted.
func rests(now, to image.Image) bool {
	return now.Package != nil && to.Package != nil && now.Package.Rest() && to.Package.Purged
}

// brought tells whether something is there, or on its way, that a transaction
// brought besides its own packages.
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
