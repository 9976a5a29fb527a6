package members

import (
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// loads returns the newest load of each hub that reports it, by the name of the hub.
func (h *core) loads() map[string]fleet.HubLoad {
	all := map[string]fleet.HubLoad{}
	if h.peers != nil {
		all = h.joint().Exchange().HubLoads()
	}
	if l, known := h.Load(); known {
		all[h.Hub] = l
	}
	return all
}

// addLoads adds the load of each reachable hub that reports it.
func addLoads(p *document.HubPage, loads map[string]fleet.HubLoad) {
	for i, m := range p.Hubs {
		if l, known := loads[m.Name]; known && m.Reachable {
			p.Hubs[i].Load = &l
		}
	}
}

// addVotes adds which hubs vote. Without a leader of the store this is unknown.
func addVotes(p *document.HubPage, peers []bus.Peer, leader string) {
	if leader == "" {
		return
	}
	for i, m := range p.Hubs {
		votes := slices.ContainsFunc(peers, func(q bus.Peer) bool { return q.Name == m.Name })
		p.Hubs[i].Voter = &votes
	}
}

// reasonOf explains why a hub is in the fleet.
func reasonOf(m records.Member) string {
	switch {
	case m.Key == "":
		return "created with the fleet"
	case m.By == "":
		return "joined the existing fleet"
	}
	return "joined with " + m.By
}
