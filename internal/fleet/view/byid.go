package view

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// ByID returns all targets that the registry has, by ID. It reads only the rows that changed since the last call.
// The caller must not modify them.
func (v *View) ByID(ctx context.Context, now time.Time) (map[fleet.TargetID]document.Target, error) {
	v.stored.listing.Lock()
	defer v.stored.listing.Unlock()
	if err := v.stored.refresh(ctx, v.eachStored); err != nil {
		return nil, err
	}
	out := make(map[fleet.TargetID]document.Target, len(v.stored.kept))
	for _, s := range v.stored.kept {
		out[s.ID] = v.target(*s, now)
	}
	return out, nil
}

// entries returns the targets within the boundary of a request, by name. A target in the fleet precedes
// others of the same name.
func (v *View) entries(ctx context.Context, now time.Time) ([]entry, error) {
	v.stored.listing.Lock()
	defer v.stored.listing.Unlock()
	if err := v.stored.refresh(ctx, v.eachStored); err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(v.stored.kept))
	b := fleet.BoundaryOf(ctx)
	for _, s := range v.stored.sortedRows() {
		if !b.Contains(fleet.Target{ID: s.ID, Organization: s.Organization, Labels: s.Labels}) {
			continue
		}
		out = append(out, v.entry(s, now))
	}
	return out, nil
}

// FactsOf returns the facts in the newest reports of the targets, by ID: see fleet.Status. A target without a report,
// or without facts, is missing.
func FactsOf(ctx context.Context, v *View) (map[fleet.TargetID]map[string]string, error) {
	rows, err := v.read.QueryContext(ctx, `
    SELECT w.text, f.text FROM statuses s JOIN words w ON w.n = s.target JOIN words f ON f.n = s.facts
    WHERE f.text <> ''`)
	if err != nil {
		return nil, v.unread(err)
	}
	defer func() { _ = rows.Close() }()
	out, known := map[fleet.TargetID]map[string]string{}, map[string]map[string]string{}
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, v.unread(err)
		}
		if _, ok := known[text]; !ok {
			var facts map[string]string
			if err := json.Unmarshal([]byte(text), &facts); err != nil {
				return nil, v.unread(damaged(err))
			}
			known[text] = facts
		}
		out[fleet.TargetID(id)] = known[text]
	}
	if err := rows.Err(); err != nil {
		return nil, v.unread(err)
	}
	return out, nil
}

func (v *View) entry(s *storedTarget, now time.Time) entry {
	v.mu.Lock()
	c := v.contacts[s.ID]
	v.mu.Unlock()
	k := s.known
	k.silent = c.unresponsive(s.Contact, now, v.options.Silence)
	return entry{storedTarget: s, state: k.state(), contact: max(s.Contact, c.at), connected: c.connected}
}

const targetQuery = `
    SELECT t.target, t.doc, COALESCE(a.epoch, 0), COALESCE(a.generation, 0), COALESCE(a.frozen, ''),
    COALESCE(a.withdrawn, ''),
    COALESCE(s.seq, 0), COALESCE(s.at, 0), COALESCE(s.epoch, 0), COALESCE(s.generation, 0), COALESCE(w.text, ''), COALESCE(s.drift, 0), COALESCE(s.frozen, ''), COALESCE(s.run, 0), COALESCE(s.changed, 0), COALESCE(s.error, ''),
    COALESCE(c.modules, 0), COALESCE(c.behind, 0), COALESCE(c.states, 0), COALESCE(c.error, ''), COALESCE(c.waits, ''),
    COALESCE(z.text, ''), COALESCE(a.list, 0)
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

func scanTarget(rows *sql.Rows) (n int64, t storedTarget, err error) {
	var doc sql.RawBytes
	var withdrawn, said, failure string
	var seq int64
	err = rows.Scan(&n, &doc, &t.Assigned.Epoch, &t.Assigned.Generation, &t.Frozen, &withdrawn,
		&seq, &t.Contact, &t.Accepted.Epoch, &t.Accepted.Generation, &t.Version, &t.Drift, &said, &t.Run, &t.Changed,
		&t.Error,
		&t.Modules, &t.Behind, &t.states, &failure, &t.Waits, &t.Zone, &t.list)
	if err != nil {
		return n, t, err
	}
	stored, err := decoded(doc)
	if err != nil {
		return n, t, err
	}
	t.ID, t.Name, t.Fleet, t.Labels, t.Standing = stored.ID, stored.Name, stored.Fleet, stored.Labels, stored.Standing
	t.Organization = stored.Organization
	t.Suspect, t.pin = stored.Suspect, stored.Pin
	t.Frozen = cmp.Or(said, t.Frozen, withdrawn)
	t.Error = cmp.Or(t.Error, failure)
	t.cloned = stored.Cloned()
	t.active, t.reported = t.Standing == fleet.Active, seq > 0
	t.frozen, t.failed, t.drift, t.behind = t.Frozen != "", t.Error != "", t.Drift, t.Behind
	t.assigned, t.accepted = t.Assigned, t.Accepted
	return n, t, nil
}

// decoded decodes a row of the table targets.
func decoded(doc sql.RawBytes) (t fleet.Target, err error) {
	if err = json.Unmarshal(doc, &t); err != nil {
		err = damaged(err)
	}
	return t, err
}

// target returns a target with its state at a time.
func (v *View) target(s storedTarget, now time.Time) document.Target {
	return v.entry(&s, now).document(now)
}
