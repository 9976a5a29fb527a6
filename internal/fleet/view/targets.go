package view

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/selection"
	"fettle.dev/fettle/internal/lang/query"
)

// Targets returns a page of the selected targets. An error about the query wraps ErrQuery.
func (v *View) Targets(ctx context.Context, q TargetQuery) (document.TargetPage, error) {
	page := document.TargetPage{Format: document.TargetPageFormat, Targets: []document.Target{}}
	order, err := targetOrder(q.Sort)
	if err != nil {
		return page, err
	}
	all, err := v.targets(ctx, "", q.Now)
	if err != nil {
		return page, err
	}
	if !q.All {
		all = slices.DeleteFunc(all, func(t document.Target) bool {
			return t.Standing == fleet.Retired ||
				t.Standing == fleet.Revoked
		})
	}
	if all, err = v.chosen(all, q.Select); err != nil {
		return page, err
	}
	slices.SortFunc(all, order)
	page.Total = len(all)
	page.Targets = append(page.Targets, Page(all, q.Offset, q.Limit)...)
	return page, nil
}

// decoded decodes a row of the table targets.
func decoded(doc sql.RawBytes) (t fleet.Target, err error) {
	if err = json.Unmarshal(doc, &t); err != nil {
		err = damaged(err)
	}
	return t, err
}

// ErrQuery is wrapped by errors about an invalid query.
var ErrQuery = errors.New("invalid query")

// queryError marks an error as an error of the query.
func queryError(err error) error { return fmt.Errorf("%w: %w", ErrQuery, err) }

// Page returns one page of a list; limit 0 means MaxPage.
func Page[T any](all []T, offset, limit int) []T {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	offset = min(max(offset, 0), len(all))
	return all[offset:min(offset+limit, len(all))]
}

// targetOrder returns the order of targets for its name. Equal targets are sorted by name.
func targetOrder(name string) (func(a, b document.Target) int, error) {
	field, back := strings.CutPrefix(name, "-")
	states := document.States()
	orders := map[string]func(a, b document.Target) int{
		"":     func(a, b document.Target) int { return 0 },
		"name": func(a, b document.Target) int { return cmp.Compare(a.Name, b.Name) },
		"state": func(a, b document.Target) int {
			return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
		},
		"contact": func(a, b document.Target) int { return cmp.Compare(a.Contact, b.Contact) },
		"drift":   func(a, b document.Target) int { return cmp.Compare(b.Drift, a.Drift) },
		"behind":  func(a, b document.Target) int { return cmp.Compare(b.Behind, a.Behind) },
		"changed": func(a, b document.Target) int { return cmp.Compare(b.Changed, a.Changed) },
	}
	order, ok := orders[field]
	if !ok {
		return nil, queryError(fmt.Errorf(
			"cannot sort by %.40q: use name, state, contact, drift, behind or changed, with - before it for the reverse order",
			name))
	}
	sign := 1
	if back {
		sign = -1
	}
	return func(a, b document.Target) int {
		return cmp.Or(sign*order(a, b), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	}, nil
}

// chosen returns the selected targets. The name of a target in the fleet
// also selects removed targets with the same name.
func (v *View) chosen(all []document.Target, words []string) ([]document.Target, error) {
	if len(words) == 0 {
		return all, nil
	}
	s, err := selection.Parse(words)
	if err != nil {
		return nil, queryError(err)
	}
	v.mu.Lock()
	belongs := v.memberships
	v.mu.Unlock()
	inventory := make([]query.Target, 0, len(all))
	given := selection.Given{}
	for _, t := range slices.Backward(all) { // for equal names, the last one is in the fleet
		b := belongs[t.Name]
		inventory = append(inventory, query.Target{Name: t.Name, Labels: t.Labels, Roles: b.Roles, Groups: b.Groups})
		if t.State == document.Failed {
			given.Failed = append(given.Failed, t.Name)
		}
	}
	found, err := s.Choose(inventory, given)
	if err != nil {
		return nil, queryError(err)
	}
	names := make(map[string]bool, len(found))
	for _, t := range found {
		names[t.Name] = true
	}
	return slices.DeleteFunc(all, func(t document.Target) bool { return !names[t.Name] }), nil
}

const targetQuery = `
    SELECT t.target, t.doc, COALESCE(a.epoch, 0), COALESCE(a.generation, 0), COALESCE(a.frozen, ''),
    COALESCE(a.withdrawn, ''),
    COALESCE(s.seq, 0), COALESCE(s.at, 0), COALESCE(s.epoch, 0), COALESCE(s.generation, 0), COALESCE(w.text, ''), COALESCE(s.drift, 0), COALESCE(s.frozen, ''), COALESCE(s.run, 0), COALESCE(s.changed, 0), COALESCE(s.error, ''),
    COALESCE(c.modules, 0), COALESCE(c.behind, 0), COALESCE(c.states, 0), COALESCE(c.error, ''), COALESCE(c.waits, ''),
    COALESCE(z.text, '')
    FROM targets t LEFT JOIN assignments a USING (target) LEFT JOIN statuses s USING (target) LEFT JOIN words w ON w.n = s.version LEFT JOIN words z ON z.n = s.zone LEFT JOIN sums c USING (target)
    %s ORDER BY t.gone DESC, t.name, t.target`

// targets returns the targets that match a condition. Targets that left the fleet come first.
func (v *View) targets(ctx context.Context, where string, now time.Time,
	args ...any) (out []document.Target, err error) {
	err = v.eachStored(ctx, where, func(_ int64, s storedTarget) { out = append(out, v.target(s, now)) }, args...)
	return out, err
}

// eachStored calls f for the targets that match a condition, with their numbers. Targets that left the fleet come
// first.
func (v *View) eachStored(ctx context.Context, where string, f func(int64, storedTarget), args ...any) error {
	rows, err := v.read.QueryContext(ctx, fmt.Sprintf(targetQuery, where), args...)
	if err != nil {
		return v.unread(err)
	}
	defer rows.Close()
	for rows.Next() {
		n, s, err := scanTarget(rows)
		if err != nil {
			return v.unread(err)
		}
		f(n, s)
	}
	if err := rows.Err(); err != nil {
		return v.unread(err)
	}
	return nil
}

func (v *View) unread(err error) error {
	return fmt.Errorf("cannot read the read model: %w", v.noted(err))
}

// storedTarget is a target as the tables have it. The fields of document.Target that also depend on the contacts or on
// the time are incomplete.
type storedTarget struct {
	document.Target
	known
	pin *fleet.Pin
}

func scanTarget(rows *sql.Rows) (n int64, t storedTarget, err error) {
	var doc sql.RawBytes
	var withdrawn, said, failure string
	var seq int64
	err = rows.Scan(&n, &doc, &t.Assigned.Epoch, &t.Assigned.Generation, &t.Frozen, &withdrawn,
		&seq, &t.Contact, &t.Accepted.Epoch, &t.Accepted.Generation, &t.Version, &t.Drift, &said, &t.Run, &t.Changed,
		&t.Error,
		&t.Modules, &t.Behind, &t.states, &failure, &t.Waits, &t.Zone)
	if err != nil {
		return n, t, err
	}
	stored, err := decoded(doc)
	if err != nil {
		return n, t, err
	}
	t.ID, t.Name, t.Fleet, t.Labels, t.Standing = stored.ID, stored.Name, stored.Fleet, stored.Labels, stored.Standing
	t.Suspect, t.pin = stored.Suspect, stored.Pin
	t.Frozen = cmp.Or(said, t.Frozen, withdrawn)
	t.Error = cmp.Or(t.Error, failure)
	t.cloned = stored.Cloned()
	t.active, t.reported = t.Standing == fleet.Active, seq > 0
	t.frozen, t.failed, t.drift, t.behind = t.Frozen != "", t.Error != "", t.Drift, t.Behind
	t.assigned, t.accepted = t.Assigned, t.Accepted
	return n, t, nil
}

// target returns a target with its state at a time.
func (v *View) target(s storedTarget, now time.Time) document.Target {
	v.mu.Lock()
	c := v.contacts[s.ID]
	v.mu.Unlock()
	t, k := s.Target, s.known
	if p := s.pin; p != nil && (p.Until == 0 || p.Until > now.Unix()) {
		t.Pin = p
	}
	k.silent = c.unresponsive(t.Contact, now, v.options.Silence)
	t.Connected, t.Contact = c.connected, max(t.Contact, c.at)
	t.State = k.state()
	return t
}
