package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// What is assigned to active targets, module by module: how many have which revision in
// which state.
// They are counted by number first, so that texts are looked up once for each group.
const moduleCounts = `
	SELECT w.text, p.doc, COALESCE(c.text, ''), COALESCE(s.text, ''), g.behind, g.targets, g.failed
	FROM (
		SELECT a.module, a.part, m.commit_, m.state, p.commit_ <> COALESCE(m.commit_, 0) AND (COALESCE(m.bundle, 0) = 0 OR p.bundle <> m.bundle) AS behind, COUNT(*) AS targets, SUM(COALESCE(m.error, '') <> '') AS failed
		FROM targets t JOIN assigned a ON a.target = t.target JOIN parts p ON p.n = a.part LEFT JOIN modules m ON m.target = a.target AND m.module = a.module
		WHERE t.active %s GROUP BY a.module, a.part, m.commit_, m.state, 5
	) g JOIN parts p ON p.n = g.part JOIN words w ON w.n = g.module LEFT JOIN words c ON c.n = g.commit_ LEFT JOIN words s ON s.n = g.state`

// Modules counts every module that is assigned to an active target, by name.
func (v *View) Modules(ctx context.Context, now time.Time) (document.ModulePage, error) {
	page := document.ModulePage{Format: document.ModulePageFormat, Modules: []document.Module{}}
	found, err := v.modules(ctx, "")
	for _, name := range slices.Sorted(maps.Keys(found)) {
		page.Modules = append(page.Modules, found[name].document())
	}
	return page, err
}

// counting is a module while it is counted.
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

func (v *View) modules(ctx context.Context, where string, args ...any) (map[string]*counting, error) {
	rows, err := v.read.QueryContext(ctx, fmt.Sprintf(moduleCounts, where), args...)
	if err != nil {
		return nil, unread(err)
	}
	defer rows.Close()
	out := map[string]*counting{}
	for rows.Next() {
		var name, doc, applied string
		var state fleet.Readiness
		var behind bool
		var count, failed int
		if err := rows.Scan(&name, &doc, &applied, &state, &behind, &count, &failed); err != nil {
			return nil, unread(err)
		}
		var a fleet.Assigned
		if err := json.Unmarshal([]byte(doc), &a); err != nil {
			return nil, unread(err)
		}
		c := out[name]
		if c == nil {
			c = &counting{document.Module{Module: name, States: map[fleet.Readiness]int{}, Revisions: []document.RevisionCount{}}, map[string]*document.RevisionCount{}}
			out[name] = c
		}
		c.add(a.Revision, applied, state, behind, count, failed)
	}
	if err := rows.Err(); err != nil {
		return nil, unread(err)
	}
	return out, nil
}

// Unreported stands in counts for the state of a module that its target has said
// nothing of yet.
const Unreported fleet.Readiness = "unknown"

func (c *counting) add(assigned fleet.Revision, applied string, state fleet.Readiness, behind bool, count, failed int) {
	c.module.Targets += count
	c.module.Errors += failed
	c.module.States[cmp.Or(state, Unreported)] += count
	c.revision(assigned).Assigned += count
	if behind {
		c.module.Behind += count
	}
	if applied != "" {
		c.revision(fleet.Revision{Commit: applied}).Applied += count
	}
}

// Module gives one module with a page of the active targets that it is assigned to, the
// worst first. fleet.ErrNotFound is in the chain when it is assigned to none.
func (v *View) Module(ctx context.Context, q ModuleQuery) (document.ModuleDetail, error) {
	d := document.ModuleDetail{Format: document.ModuleDetailFormat, Targets: []document.TargetOfModule{}}
	found, err := v.modules(ctx, "AND a.module = (SELECT n FROM words WHERE text = ?)", q.Module)
	if err != nil {
		return d, err
	}
	c := found[q.Module]
	if c == nil {
		return d, fmt.Errorf("cannot find a module %.80q that is assigned to a target: %w", q.Module, fleet.ErrNotFound)
	}
	d.Module = c.document()
	all, err := v.targetsOf(ctx, q.Module)
	if err != nil {
		return d, err
	}
	slices.SortFunc(all, func(a, b document.TargetOfModule) int {
		return cmp.Or(cmp.Compare(severity(a.State), severity(b.State)), whether(b.Behind, a.Behind), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	d.Total = len(all)
	d.Targets = append(d.Targets, part(all, q.Offset, q.Limit)...)
	return d, nil
}

// whether compares two answers, no before yes.
func whether(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (v *View) targetsOf(ctx context.Context, module string) ([]document.TargetOfModule, error) {
	rows, err := v.read.QueryContext(ctx, `
		SELECT i.text, t.name, COALESCE(s.text, ''), n.text, COALESCE(c.text, ''), p.commit_ <> COALESCE(m.commit_, 0) AND (COALESCE(m.bundle, 0) = 0 OR p.bundle <> m.bundle),
			COALESCE(m.since, 0), COALESCE(m.waits, ''), COALESCE(m.error, '')
		FROM assigned a JOIN words w ON w.n = a.module AND w.text = ? JOIN targets t ON t.target = a.target AND t.active JOIN words i ON i.n = t.target JOIN parts p ON p.n = a.part JOIN words n ON n.n = p.commit_
		LEFT JOIN modules m ON m.target = a.target AND m.module = a.module LEFT JOIN words c ON c.n = m.commit_ LEFT JOIN words s ON s.n = m.state`, module)
	if err != nil {
		return nil, unread(err)
	}
	defer rows.Close()
	var out []document.TargetOfModule
	for rows.Next() {
		var t document.TargetOfModule
		if err := rows.Scan(&t.ID, &t.Name, &t.State, &t.Assigned, &t.Applied, &t.Behind, &t.Since, &t.Waits, &t.Error); err != nil {
			return nil, unread(err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}
