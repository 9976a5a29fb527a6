package view

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Target returns the details of a target by its identity or its name. If several targets had the
// name, it returns the one in the fleet, or the newest. An unknown name causes fleet.ErrNotFound.
func (v *View) Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error) {
	d := document.TargetDetail{Format: document.TargetDetailFormat, Serials: []string{},
		Modules: []document.ModuleOnTarget{}}
	n, err := v.find(ctx, name)
	if err != nil {
		return d, err
	}
	found, err := v.targets(ctx, "WHERE t.target = ?", now, n)
	if err != nil {
		return d, err
	}
	if len(found) == 0 {
		return d, unknown(name)
	}
	d.Target, d.Ahead = found[0], int64(v.ahead(found[0].ID))
	var doc, facts, top string
	err = v.read.QueryRowContext(ctx, `
    SELECT t.doc, COALESCE(a.issued, 0), COALESCE(a.withdrawn, ''), COALESCE(p.doc, ''), COALESCE(f.text, '')
    FROM targets t LEFT JOIN assignments a USING (target) LEFT JOIN parts p ON p.n = a.top LEFT JOIN statuses s USING (target) LEFT JOIN words f ON f.n = s.facts
    WHERE t.target = ?`, n).Scan(&doc, &d.Issued, &d.Withdrawn, &top, &facts)
	if err != nil {
		return d, v.unread(err)
	}
	if err := fill(&d, doc, top, facts); err != nil {
		return d, v.unread(err)
	}
	v.serve(&d)
	on := moduleOnTarget{silent: v.unresponsiveSince(d.Target, now), cloned: d.Target.State == document.Cloned}
	if d.Modules, err = v.modulesOn(ctx, n, on); err != nil {
		return d, err
	}
	if d.Checks, err = checksOn(ctx, v, n, d.Target.ID, on); err != nil {
		return d, err
	}
	return d, fillGuests(ctx, v, &d, n, now, on)
}

func fill(d *document.TargetDetail, doc, top, facts string) error {
	var stored fleet.Target
	if err := json.Unmarshal([]byte(doc), &stored); err != nil {
		return damaged(err)
	}
	d.Key, d.Token, d.By = stored.Key, stored.Token, stored.By
	d.Enrolled = stored.Enrolled * int64(time.Second)
	d.Issued *= int64(time.Second)
	d.Serials = append(d.Serials, stored.Serials...)
	if facts != "" {
		if err := json.Unmarshal([]byte(facts), &d.Facts); err != nil {
			return damaged(err)
		}
	}
	if top == "" {
		return nil
	}
	var a fleet.Assigned
	err := json.Unmarshal([]byte(top), &a)
	d.Root = &a.Revision
	return damaged(err)
}

// NewestReport returns the number of the newest report of a target, or 0.
func (v *View) NewestReport(ctx context.Context, id fleet.TargetID) (uint64, error) {
	var seq int64
	err := v.read.QueryRowContext(ctx, "SELECT s.seq FROM statuses s JOIN words w ON w.n = s.target WHERE w.text = ?",
		string(id)).Scan(&seq)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, v.unread(err)
	}
	return uint64(max(seq, 0)), nil
}

func (v *View) serve(d *document.TargetDetail) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if b, ok := v.memberships[d.Target.Name]; ok {
		d.Serves = map[string][]string{"roles": append([]string{}, b.Roles...), "groups": append([]string{}, b.Groups...)}
		d.Environment, d.Element = b.Environment, b.Element
	}
}

// modulesOn returns the assigned modules in their order, and then other applied modules by name.
func (v *View) modulesOn(ctx context.Context, target int64,
	on moduleOnTarget) (out []document.ModuleOnTarget, err error) {
	err = v.look(ctx, func(s *readTx) error {
		out, err = s.modulesOn(target, on)
		return err
	})
	return out, err
}

func (s *readTx) modulesOn(target int64, on moduleOnTarget) ([]document.ModuleOnTarget, error) {
	has, err := s.rows(target)
	if err != nil {
		return nil, err
	}
	lists, err := s.lists("WHERE l.list = (SELECT list FROM assignments WHERE target = ?)", target)
	if err != nil {
		return nil, err
	}
	out := []document.ModuleOnTarget{}
	for _, list := range lists { // at most one
		for _, want := range list {
			m, err := s.moduleOn(want.module, has[want.module])
			if err == nil {
				err = s.assign(&m, want, has[want.module])
			}
			m.State = moduleOnTarget{m.State, on.silent, on.cloned, m.Behind}.state()
			if err != nil {
				return nil, err
			}
			out = append(out, m)
			delete(has, want.module)
		}
	}
	assigned := len(out)
	for module, r := range has {
		m, err := s.moduleOn(module, r)
		if err != nil {
			return nil, err
		}
		m.State = moduleOnTarget{m.State, on.silent, on.cloned, false}.state()
		out = append(out, m)
	}
	slices.SortFunc(out[assigned:], func(a, b document.ModuleOnTarget) int { return cmp.Compare(a.Module, b.Module) })
	return out, nil
}

// moduleOn returns the reported state of a module, without the assignment.
func (s *readTx) moduleOn(module int64, r row) (document.ModuleOnTarget, error) {
	m := document.ModuleOnTarget{Needs: []fleet.Need{}, Since: r.since, Waits: r.waits, Error: r.failure}
	return m, s.fill(map[*string]int64{&m.Module: module, &m.Applied: r.commit, (*string)(&m.State): r.state})
}

// assign adds the assignment of the module.
func (s *readTx) assign(m *document.ModuleOnTarget, want wanted, has row) error {
	a, err := s.assigned(want.n)
	m.Assigned, m.Needs, m.Behind = &a.Revision, append(m.Needs, a.Needs...), want.one.behind(has.one())
	return err
}
