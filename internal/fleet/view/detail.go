package view

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Target gives all that is known of one, by its identity or its name. Of several that
// had a name it is the one that is not gone, else the newest. fleet.ErrNotFound is in the
// chain of the error about one that nobody knows.
func (v *View) Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error) {
	d := document.TargetDetail{Format: document.TargetDetailFormat, Serials: []string{}, Modules: []document.ModuleOnTarget{}}
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
		return d, unread(err)
	}
	if err := fill(&d, doc, top, facts); err != nil {
		return d, unread(err)
	}
	v.serve(&d)
	d.Modules, err = v.modulesOn(ctx, n)
	return d, err
}

func unknown(name string) error {
	return fmt.Errorf("cannot find a target %.80q: %w", name, fleet.ErrNotFound)
}

// find is the number of a target by its identity or name.
func (v *View) find(ctx context.Context, name string) (int64, error) {
	var n int64
	err := v.read.QueryRowContext(ctx, "SELECT target FROM targets JOIN words w ON w.n = target WHERE w.text = ?1 OR name = ?1 ORDER BY w.text = ?1 DESC, gone, target DESC LIMIT 1", name).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, unknown(name)
	}
	if err != nil {
		return 0, unread(err)
	}
	return n, nil
}

func fill(d *document.TargetDetail, doc, top, facts string) error {
	var stored fleet.Target
	if err := json.Unmarshal([]byte(doc), &stored); err != nil {
		return err
	}
	d.Key, d.Token, d.By = stored.Key, stored.Token, stored.By
	d.Enrolled = stored.Enrolled * int64(time.Second)
	d.Issued *= int64(time.Second)
	d.Serials = append(d.Serials, stored.Serials...)
	if facts != "" {
		if err := json.Unmarshal([]byte(facts), &d.Facts); err != nil {
			return err
		}
	}
	if top == "" {
		return nil
	}
	var a fleet.Assigned
	err := json.Unmarshal([]byte(top), &a)
	d.Top = &a.Revision
	return err
}

func (v *View) serve(d *document.TargetDetail) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if b, ok := v.belongs[d.Target.Name]; ok {
		d.Serves = map[string][]string{"roles": append([]string{}, b.Roles...), "groups": append([]string{}, b.Groups...)}
	}
}

// modulesOn are the modules that are assigned, in order, and then those that are only
// applied.
func (v *View) modulesOn(ctx context.Context, target int64) ([]document.ModuleOnTarget, error) {
	rows, err := v.read.QueryContext(ctx, `
		SELECT a.place, w.text, p.doc, COALESCE(c.text, ''), COALESCE(b.text, ''), COALESCE(s.text, ''), COALESCE(m.since, 0), COALESCE(m.waits, ''), COALESCE(m.error, '')
		FROM assigned a JOIN parts p ON p.n = a.part JOIN words w ON w.n = a.module
		LEFT JOIN modules m ON m.target = a.target AND m.module = a.module LEFT JOIN words c ON c.n = m.commit_ LEFT JOIN words b ON b.n = m.bundle LEFT JOIN words s ON s.n = m.state
		WHERE a.target = ?1
		UNION ALL
		SELECT 1000000, COALESCE(w.text, ''), '', COALESCE(c.text, ''), COALESCE(b.text, ''), COALESCE(s.text, ''), m.since, m.waits, m.error
		FROM modules m LEFT JOIN words w ON w.n = m.module LEFT JOIN words c ON c.n = m.commit_ LEFT JOIN words b ON b.n = m.bundle LEFT JOIN words s ON s.n = m.state
		WHERE m.target = ?1 AND m.module NOT IN (SELECT module FROM assigned WHERE target = ?1)
		ORDER BY 1, 2`, target)
	if err != nil {
		return nil, unread(err)
	}
	defer rows.Close()
	out := []document.ModuleOnTarget{}
	for rows.Next() {
		m, err := moduleOn(rows)
		if err != nil {
			return nil, unread(err)
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

func moduleOn(rows *sql.Rows) (document.ModuleOnTarget, error) {
	m := document.ModuleOnTarget{Needs: []fleet.Need{}}
	var at int
	var doc, bundle string
	err := rows.Scan(&at, &m.Module, &doc, &m.Applied, &bundle, &m.State, &m.Since, &m.Waits, &m.Error)
	if err != nil || doc == "" {
		return m, err
	}
	var a fleet.Assigned
	if err := json.Unmarshal([]byte(doc), &a); err != nil {
		return m, err
	}
	m.Assigned = &a.Revision
	m.Needs = append(m.Needs, a.Needs...)
	m.Behind = a.Revision.Commit != m.Applied && (bundle == "" || bundle != a.Bundle.Digest)
	return m, nil
}
