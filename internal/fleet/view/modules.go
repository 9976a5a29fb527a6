package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Modules returns counts of every module that is assigned to an active target, by name.
func (v *View) Modules(ctx context.Context, now time.Time) (document.ModulePage, error) {
	page := document.ModulePage{Format: document.ModulePageFormat, Modules: []document.Module{}}
	found, err := v.modules(ctx, 0, now)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		page.Modules = append(page.Modules, found[name].document())
	}
	return page, err
}

// counting is the intermediate count of a module.
type counting struct {
	module    document.Module
	revisions map[string]*document.RevisionCount
}

func (c *counting) revision(r fleet.Revision) *document.RevisionCount {
	found := c.revisions[r.Commit]
	if found == nil {
		found = &document.RevisionCount{Commit: r.Commit}
		c.revisions[r.Commit] = found
	}
	found.Subject, found.Branch = cmp.Or(found.Subject, r.Subject), cmp.Or(found.Branch, r.Branch)
	return found
}

func (c *counting) document() document.Module {
	for _, r := range c.revisions {
		c.module.Revisions = append(c.module.Revisions, *r)
	}
	slices.SortFunc(c.module.Revisions, func(a, b document.RevisionCount) int {
		return cmp.Or(cmp.Compare(b.Assigned, a.Assigned), cmp.Compare(b.Applied, a.Applied), cmp.Compare(a.Commit, b.Commit))
	})
	return c.module
}

// group is a key for counting: targets with the same assigned and the same reported state of a
// module.
type group struct {
	part, commit, state int64
	behind, silent      bool
	cloned              bool
}

// tally is the number of targets in a group, and of targets with an error of the module.
type tally struct{ targets, failed int }

// modules counts one module, or all modules if only is 0. It counts by number first, so that texts
// are read once per group.
func (v *View) modules(ctx context.Context, only int64, now time.Time) (map[string]*counting, error) {
	groups := map[group]tally{}
	out := map[string]*counting{}
	err := v.look(ctx, func(s *readTx) error {
		err := s.each(only, func(at stand, want wanted, has row) error {
			g := group{want.n, has.commit, has.state, want.one.behind(has.one()), v.unresponsive(at, now), at.cloned}
			n := groups[g]
			n.targets++
			if has.failure != "" {
				n.failed++
			}
			groups[g] = n
			return nil
		})
		if err != nil {
			return err
		}
		for g, n := range groups {
			if err := s.count(out, g, n); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (s *readTx) count(out map[string]*counting, g group, n tally) error {
	a, err := s.assigned(g.part)
	if err != nil {
		return err
	}
	c := out[a.Module]
	if c == nil {
		c = &counting{document.Module{Module: a.Module, States: map[fleet.Readiness]int{},
			Revisions: []document.RevisionCount{}}, map[string]*document.RevisionCount{}}
		out[a.Module] = c
	}
	var applied, state string
	err = s.fill(map[*string]int64{&applied: g.commit, &state: g.state})
	c.add(a.Revision, applied, moduleOnTarget{fleet.Readiness(state), g.silent, g.cloned, g.behind}, n.targets, n.failed)
	return err
}

func (c *counting) add(assigned fleet.Revision, applied string, m moduleOnTarget, count, failed int) {
	c.module.Targets += count
	c.module.Errors += failed
	c.module.States[m.state()] += count
	c.revision(assigned).Assigned += count
	if m.behind {
		c.module.Behind += count
	}
	if applied != "" {
		c.revision(fleet.Revision{Commit: applied}).Applied += count
	}
}

// Module returns one module with a page of its active targets, the worst first. If it is assigned
// to none, the error wraps fleet.ErrNotFound.
func (v *View) Module(ctx context.Context, q ModuleQuery) (document.ModuleDetail, error) {
	d := document.ModuleDetail{Format: document.ModuleDetailFormat, Targets: []document.TargetOfModule{}}
	n, err := v.numberOf(ctx, q.Module)
	if err != nil {
		return d, err
	}
	found, err := v.modules(ctx, n, q.Now)
	if err != nil {
		return d, err
	}
	c := found[q.Module]
	if c == nil {
		return d, fmt.Errorf("cannot find a module %.80q that is assigned to a target: %w", q.Module, fleet.ErrNotFound)
	}
	d.Module = c.document()
	all, err := v.targetsOf(ctx, n, q.Now)
	if err != nil {
		return d, err
	}
	slices.SortFunc(all, func(a, b document.TargetOfModule) int {
		return cmp.Or(cmp.Compare(severity(a.State), severity(b.State)), whether(b.Behind, a.Behind),
			cmp.Compare(a.Since, b.Since), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	d.Total = len(all)
	d.Targets = append(d.Targets, Page(all, q.Offset, q.Limit)...)
	return d, nil
}

func (v *View) targetsOf(ctx context.Context, module int64, now time.Time) (out []document.TargetOfModule, err error) {
	err = v.look(ctx, func(s *readTx) error {
		return s.each(module, func(at stand, want wanted, has row) error {
			t := document.TargetOfModule{ID: fleet.TargetID(at.id), Name: at.name, Behind: want.one.behind(has.one()),
				Since: has.since, Waits: has.waits, Error: has.failure}
			var said string
			err := s.fill(map[*string]int64{&said: has.state, &t.Assigned: want.one.commit, &t.Applied: has.commit})
			t.State = moduleOnTarget{fleet.Readiness(said), v.unresponsive(at, now), at.cloned, t.Behind}.state()
			out = append(out, t)
			return err
		})
	})
	return out, err
}
