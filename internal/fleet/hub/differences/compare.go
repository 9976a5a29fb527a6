package differences

import (
	"fmt"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleetdiff"
	"fettle.dev/fettle/internal/repo"
)

// comparison collects the results of one request.
type comparison struct {
	*work
	commit compiled
	found  fleetdiff.Groups
	equal  int // compiled targets without a difference
	failed reasons
	late   []string // targets that were not compiled in time
}

// compare compiles all classes, and then runs the tests of the commit in the time that is left.
func (w *work) compare(c compiled, g groups) (document.CommitDifferences, error) {
	x := &comparison{work: w, commit: c, failed: g.failed}
	for _, k := range g.classes {
		if w.ctx.Err() != nil {
			x.late = append(x.late, namesOf(k.members)...)
			continue
		}
		x.class(k)
	}
	tests, err := w.tests()
	if err != nil {
		return document.CommitDifferences{}, err
	}
	if len(x.late) > 0 {
		g.excluded.add("the time limit of "+w.Timeout.String(), x.late...)
	}
	d := document.CommitDifferences{Targets: g.targets, Unchanged: g.unchanged + x.equal, Tests: tests,
		Failed: listed(x.failed), NotCompared: listed(g.excluded)}
	d.Groups, d.MoreGroups, d.MoreTargets = groupsOf(x.found.Sorted())
	return d, nil
}

// class compares the targets of a class.
func (x *comparison) class(k class) {
	before, after, end, err := x.trees(k)
	if err != nil {
		x.failed.add(err.Error(), namesOf(k.members)...)
		return
	}
	defer end()
	for _, same := range alike(k.members) {
		in := compile.Input{Tree: after, Facts: valuesOf(same[0].facts), ReportedFacts: true}
		x.members(before, in, same)
	}
}

// members compares targets with the same facts. After an error, it compares each of the remaining targets separately.
func (x *comparison) members(before repo.Tree, in compile.Input, all []member) {
	done := 0
	for found, ds := range x.use().Diff(before, in, compared(all)) {
		if ds.HasErrors() {
			break
		}
		for _, d := range found {
			x.add(d)
		}
		done += len(found)
	}
	for _, m := range all[done:] {
		if x.ctx.Err() != nil {
			x.late = append(x.late, m.name)
			continue
		}
		x.single(before, in, m)
	}
}

// single compares one target.
func (x *comparison) single(before repo.Tree, in compile.Input, m member) {
	for found, ds := range x.use().Diff(before, in, compared([]member{m})) {
		switch {
		case ds.HasErrors() && x.ctx.Err() != nil:
			x.late = append(x.late, m.name)
		case ds.HasErrors():
			x.failed.add(firstError(ds), m.name)
		default:
			x.add(found[0])
		}
	}
}

func (x *comparison) add(d compile.Difference) {
	if len(d.Changes) == 0 {
		x.equal++
		return
	}
	x.found.Add(d.Target, d.Changes)
}

func compared(all []member) (out []compile.Compared) {
	for _, m := range all {
		out = append(out, compile.Compared{Target: m.name, Has: [2]bool{m.has, true}})
	}
	return out
}

func namesOf(all []member) (out []string) {
	for _, m := range all {
		out = append(out, m.name)
	}
	return out
}

// trees returns the trees from which the targets of a class are compiled, as their agents build them.
func (x *comparison) trees(k class) (before, after repo.Tree, end func(), err error) {
	var closes []func() error
	end = func() {
		for _, c := range closes {
			_ = c()
		}
	}
	was, want := fleet.EnrolledTargets{}, fleet.EnrolledTargets{}
	for _, m := range k.members {
		was[m.name] = fleet.EnrolledTarget{Labels: m.was, Waits: k.was.Withheld, Environment: k.was.Environment}
		want[m.name] = fleet.EnrolledTarget{Labels: m.want, Waits: k.want.Withheld, Environment: k.want.Environment}
	}
	open := func(p fleet.Assigned) (repo.Tree, error) {
		t, c, err := x.part(p)
		if c != nil {
			closes = append(closes, c)
		}
		return t, err
	}
	if after, err = composed(k.want, want, open); err == nil && k.members[0].has {
		before, err = composed(k.was, was, open)
	} else {
		before = repo.MapTree(nil)
	}
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return before, after, end, nil
}

// composed combines the parts of an assignment for several targets.
func composed(a fleet.Assignment, enrolled fleet.EnrolledTargets,
	open func(fleet.Assigned) (repo.Tree, error)) (repo.Tree, error) {
	top, err := open(a.Root)
	if err != nil {
		return nil, err
	}
	modules := map[string]repo.Tree{}
	for _, m := range a.Modules {
		if modules[m.Module], err = open(m); err != nil {
			return nil, err
		}
	}
	made := fleet.EnrolledFiles(enrolled)
	if len(a.Exported) > 0 {
		made[exported.File] = string(exported.Text(a.Exported))
	}
	return content.ComposeWith(top, modules, made)
}

// part returns the content of a part: from the commit, or from the store of the hub.
func (x *comparison) part(p fleet.Assigned) (repo.Tree, func() error, error) {
	if b, ok := x.commit.Bundles[p.Module]; ok && b.Digest == p.Bundle.Digest {
		t, err := x.files()
		if err != nil {
			return nil, nil, err
		}
		if p.Module != content.RootBundle {
			return repo.Sub(t.files, p.Module), nil, nil
		}
		top, err := content.RootOf(t.files)
		return top, nil, err
	}
	if !x.Content.Has(p.Bundle) {
		return nil, nil, fmt.Errorf("cannot read %s at %.12s: this hub does not have the content yet", partName(p.Module),
			p.Revision.Commit)
	}
	b, end, err := content.OpenBundle(x.Content, p.Bundle)
	if err != nil {
		return nil, nil, err
	}
	return b.Tree(), end, nil
}

func partName(module string) string {
	if module == content.RootBundle {
		return "the root bundle"
	}
	return module
}
