package hub

import (
	"context"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus"
)

// incompatible records that a hub refused an agent because they have no protocol version in common.
// The store has one record per target, until a hub accepts the agent.
type incompatible struct {
	bus.VersionError
	By string `json:"by"` // the name of the hub that refused it
}

func (i incompatible) text() string {
	return fmt.Sprintf("the hub %s refuses the agent: %s", i.By, i.VersionError.Error())
}

// onIncompatible records a refused agent in the background. It writes only if the versions changed,
// because the agent tries to connect again and again.
func (h *Hub) onIncompatible(id fleet.TargetID, e *bus.VersionError) {
	now := incompatible{*e, h.set.Name}
	if was, _, there := h.incompatible.get(string(id)); there && was == now {
		return
	}
	h.retryQueue.add(h.ctx, retryTask{
		key: "incompatible/" + string(id),
		do: func(ctx context.Context) error {
			_, rev, there := h.incompatible.get(string(id))
			if !there {
				h.note(ctx, fleet.HubEvent{Kind: fleet.ProtocolViolated, Target: id, Text: "incompatible protocol versions", Error: now.text()})
			}
			return h.incompatible.put(ctx, string(id), now, rev)
		},
	})
}

// compatible removes the record of a refused agent after a hub accepted it, or after it left the
// fleet.
func (h *Hub) compatible(id fleet.TargetID) {
	if _, _, there := h.incompatible.get(string(id)); !there {
		return
	}
	h.retryQueue.add(h.ctx, retryTask{
		key: "compatible/" + string(id),
		do:  func(ctx context.Context) error { return h.incompatible.remove(ctx, string(id)) },
	})
}

// incompatibleAlarms returns one alarm for each combination of versions.
func (h *Hub) incompatibleAlarms() []assign.Alarm {
	of := map[string][]fleet.TargetID{}
	h.incompatible.each(func(id string, i incompatible, _ uint64) {
		of[i.text()] = append(of[i.text()], fleet.TargetID(id))
	})
	var out []assign.Alarm
	for text, ids := range of {
		slices.Sort(ids)
		out = append(out, assign.Alarm{Kind: assign.Incompatible, Text: text,
			Targets: ids[:min(len(ids), assign.MaxAlarmTargets)], Count: len(ids)})
	}
	slices.SortFunc(out, func(a, b assign.Alarm) int { return slices.Compare([]byte(a.Text), []byte(b.Text)) })
	return out
}
