package notices

import (
	"cmp"
	"context"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Incompatible records a refused agent in the background. It writes only if the versions changed,
// because the agent tries to connect again and again.
func (n *Notifier) Incompatible(id fleet.TargetID, e *bus.VersionError) {
	now := records.Incompatible{VersionError: *e, By: n.Hub}
	if was, _, there := n.Records.Incompatible.Get(string(id)); there && was == now {
		return
	}
	n.RetryQueue.Add(n.Context(), limits.RetryTask{
		Key: "incompatible/" + string(id),
		Do: func(ctx context.Context) error {
			_, rev, there := n.Records.Incompatible.Get(string(id))
			if !there {
				n.Events.Note(ctx, fleet.HubEvent{Kind: fleet.ProtocolViolated, Target: id, Text: "incompatible protocol versions",
					Error: now.Text()})
			}
			return n.Records.Incompatible.Put(ctx, string(id), now, rev)
		},
	})
}

// Compatible removes the record of a refused agent after a hub accepted it, or after it left the
// fleet.
func (n *Notifier) Compatible(id fleet.TargetID) {
	if _, _, there := n.Records.Incompatible.Get(string(id)); !there {
		return
	}
	n.RetryQueue.Add(n.Context(), limits.RetryTask{
		Key: "compatible/" + string(id),
		Do:  func(ctx context.Context) error { return n.Records.Incompatible.Remove(ctx, string(id)) },
	})
}

// incompatibleAlarms returns one alarm for each combination of versions and each organization.
func (n *Notifier) incompatibleAlarms() []assign.Alarm {
	type group struct {
		text string
		of   fleet.Organization
	}
	found := map[group][]fleet.TargetID{}
	n.Records.Incompatible.Each(func(id string, i records.Incompatible, _ uint64) {
		t, _, _ := n.Records.Targets.Get(id)
		g := group{i.Text(), t.Organization}
		found[g] = append(found[g], fleet.TargetID(id))
	})
	var out []assign.Alarm
	for g, ids := range found {
		slices.Sort(ids)
		out = append(out, assign.Alarm{Kind: assign.Incompatible, Text: g.text, OfTargets: true, Organization: g.of,
			Targets: ids[:min(len(ids), assign.MaxAlarmTargets)], Count: len(ids)})
	}
	slices.SortFunc(out, func(a, b assign.Alarm) int {
		return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.Organization, b.Organization))
	})
	return out
}
