package waits

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/document"
)

// member is a member of a barrier with its name. ID is "" if no target with the name was ever enrolled.
type member struct {
	name   string
	id     fleet.TargetID
	absent barrier.Absence
}

// members returns the members of a barrier, in the order of their names.
func (w *Waits) members(ctx context.Context, d barrier.Definition) ([]member, error) {
	all, err := w.targets(ctx)
	if err != nil {
		return nil, err
	}
	named := make(map[string]document.Target, len(d.Targets))
	for _, name := range d.Targets {
		named[name] = document.Target{}
	}
	for _, t := range all {
		// A name can belong to one target of the fleet, and to several that were retired or revoked.
		if old, is := named[t.Name]; is && (old.ID == "" || t.Standing == fleet.Active) {
			named[t.Name] = t
		}
	}
	out := make([]member, 0, len(d.Targets))
	for _, name := range d.Targets {
		t := named[name]
		out = append(out, member{name: name, id: t.ID, absent: w.absence(d, t)})
	}
	return out, nil
}

// absence returns why a target does not count as a member, or "".
func (w *Waits) absence(d barrier.Definition, t document.Target) barrier.Absence {
	away := min(w.Now().UnixNano()-t.Contact, int64(w.Now().Sub(w.began)))
	switch {
	case t.Standing == fleet.Retired:
		return barrier.Retired
	case t.Standing == fleet.Revoked:
		return barrier.Revoked
	case t.Standing != fleet.Active:
		return barrier.Unknown
	case t.Suspect != nil:
		return barrier.Suspect
	case t.Frozen != "":
		return barrier.Frozen
	case d.OfflineAfter > 0 && !t.Connected && away >= int64(d.OfflineAfter):
		return barrier.Offline
	}
	return ""
}

// event returns an event with the members of a barrier.
func (w *Waits) event(ctx context.Context, d barrier.Definition, kind barrier.EventKind) (barrier.Event, error) {
	all, err := w.members(ctx, d)
	e := barrier.Event{Kind: kind, Restored: w.restored()}
	for _, m := range all {
		target := string(m.id)
		if m.id == "" {
			target = m.name
		}
		e.Members = append(e.Members, barrier.Member{Target: target, Absent: m.absent})
	}
	return e, err
}
