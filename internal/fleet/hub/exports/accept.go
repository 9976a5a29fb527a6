package exports

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// OnExports stores the exported values of a target. They are durable when it returns nil. The
// connection has authenticated the target.
func (v *Values) OnExports(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := v.Trusted(ctx, from)
	if err != nil {
		return nil, err
	}
	e, err := fleet.ParseExports(body)
	if err != nil {
		return nil, err
	}
	was, rev, _ := v.Records.Exports.Get(string(from))
	if exported.SameOwn(was.Values, e.Values) {
		return nil, v.confirmExports(ctx, from, rev)
	}
	if ok, tell := v.limiter.Take(from, v.Now()); !ok {
		if tell {
			v.Events.Note(ctx, fleet.HubEvent{Kind: fleet.ExportsChanged, Target: from,
				Text:  "changes its exported values again and again: targets that use them get changes once a minute",
				Error: "does " + t.Name + " use exported values that depend on its own?"})
		}
		return nil, fmt.Errorf("cannot accept new values yet: they changed more than %d times in %s",
			exportBurst, exportBurst*exportEvery)
	}
	if len(e.Values) == 0 {
		err = v.Records.Exports.Remove(ctx, string(from))
	} else {
		err = v.Records.Exports.Put(ctx, string(from), records.Exports{Values: e.Values, Since: v.Now().UnixNano()}, rev)
	}
	if err != nil {
		return nil, err
	}
	return nil, v.Events.Record(ctx, fleet.HubEvent{Kind: fleet.ExportsChanged, Target: from,
		Text: exportText(was.Values, e.Values)})
}

// confirmExports returns nil if the store has the exported values of a target at a revision. The
// mirror may be behind, and an agent does not repeat values that a hub has acknowledged.
func (v *Values) confirmExports(ctx context.Context, from fleet.TargetID, rev uint64) error {
	if rev == 0 {
		return v.Records.Exports.Absent(ctx, string(from))
	}
	e, err := v.Records.Exports.Newest(ctx, string(from))
	if err == nil && e.Rev != rev {
		err = fmt.Errorf("cannot accept the values yet: %w", fleet.ErrConflict)
	}
	return err
}

// Forget removes the exported values of a target that has left the fleet.
func (v *Values) Forget(key string) {
	v.limiter.Forget(fleet.TargetID(key))
	if err := v.Records.Exports.Remove(v.Context(), key); err != nil && v.Context().Err() == nil {
		v.Warn("cannot remove the exported values of a target that has left the fleet: " + err.Error())
	}
}
