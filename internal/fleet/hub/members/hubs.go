package members

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// HandleRoutes registers the handler of the state of the hubs.
func (h *HubStatus) HandleRoutes(t *api.Table) { api.HandleGet(t, route.Hubs(), h.Hubs) }

// Hubs returns the hubs of the fleet, with the state, the load and the vote of each as this hub sees it.
func (h *HubStatus) Hubs(ctx context.Context) (document.HubPage, error) {
	p, err := h.connections(ctx)
	if err != nil {
		return p, err
	}
	if h.peers == nil && !h.ExternalNats {
		addVotes(&p, []bus.Peer{{Name: h.Hub}}, h.Hub)
	}
	addLoads(&p, h.loads())
	return p, nil
}

// connections returns the hubs of the fleet, and which of them are connected and have all data, as this hub sees it.
func (h *HubStatus) connections(ctx context.Context) (document.HubPage, error) {
	ctx, stop := context.WithTimeout(ctx, records.StatusTimeout)
	defer stop()
	p := document.HubPage{Format: document.HubPageFormat, AnsweredBy: h.Hub, Hubs: []document.HubMember{},
		Copies: 1, Complete: true}
	// While most hubs are down, the store does not answer. The list of hubs is in memory.
	once, done := context.WithTimeout(ctx, records.StatusTimeout/2)
	leader, _ := bus.Holder(once, h.Records.Buckets["leases"], "leader")
	done()
	for _, m := range h.Records.Members.Values() {
		own := m.Name == h.Hub
		p.Hubs = append(p.Hubs, document.HubMember{Name: m.Name, HubURLs: m.HubURLs, BusURLs: m.BusURLs,
			Reachable: own, Current: own,
			Leader: m.Name == leader, Authority: m.Authority, Domain: m.Domain, Reason: reasonOf(m),
			Joined: m.Joined * 1e9})
	}
	h.Records.Lost.Each(func(_ string, m records.Member, _ uint64) {
		p.Lost = append(p.Lost, document.LostHub{Name: m.Name, HubURLs: m.HubURLs, Authority: m.Authority,
			Joined: m.Joined * 1e9})
	})
	switch {
	case h.peers == nil:
	case h.ExternalNats:
		h.checkExternalNats(ctx, &p)
	default:
		h.seePeers(ctx, &p)
	}
	agents := h.agentsByHub()
	for i, m := range p.Hubs {
		if m.Reachable {
			p.Hubs[i].Agents = agents[m.Name]
		}
	}
	return p, nil
}

// checkExternalNats adds the state of hubs that store everything in an external NATS cluster: which hubs
// are connected, and how many servers of the cluster have a copy.
func (h *HubStatus) checkExternalNats(ctx context.Context, p *document.HubPage) {
	p.Nats = true
	peers, _ := h.joint().Peers(ctx)
	for i, m := range p.Hubs {
		if slices.ContainsFunc(peers, func(q bus.Peer) bool { return q.Name == m.Name }) {
			p.Hubs[i].Reachable, p.Hubs[i].Current = true, true
			p.ToleratedFailures++
		}
	}
	p.ToleratedFailures = max(0, p.ToleratedFailures-1)
	copies, err := h.joint().Copies(ctx)
	p.Copies, p.Complete = 0, err == nil
	for i, c := range copies {
		n, want := 0, c.Desired
		for _, q := range c.Peers {
			if q.Current {
				n++
			}
		}
		if c.Leader == "" && want == 1 {
			n = 1 // a single server has no leader
		}
		if p.Complete = p.Complete && n == want; i == 0 || n < p.Copies {
			p.Copies = n
		}
	}
}

// seePeers adds the state of the other hubs as the bus reports it.
func (h *HubStatus) seePeers(ctx context.Context, p *document.HubPage) {
	peers, leader := h.joint().Peers(ctx)
	addVotes(p, peers, leader)
	silent := unresponsiveHubs(ctx, h)
	here := 0
	for i, m := range p.Hubs {
		for _, q := range peers {
			if q.Name == m.Name {
				answers := !slices.Contains(silent, m.Name)
				p.Hubs[i].Reachable, p.Hubs[i].Current, p.Hubs[i].Lag = q.Reachable && answers, q.Current && answers, q.Lag
			}
		}
		if p.Hubs[i].Reachable {
			here++
		}
	}
	p.ToleratedFailures = max(0, here-max(len(peers), len(p.Hubs))/2-1)
	copies, err := h.joint().Copies(ctx)
	p.Copies, p.Complete = 0, err == nil && len(peers) == len(p.Hubs)
	if err != nil {
		p.ToleratedFailures = 0
	}
	for i, c := range copies {
		n := 0
		for _, q := range c.Peers {
			if q.Current {
				n++
			}
			if at := slices.IndexFunc(p.Hubs, func(m document.HubMember) bool { return m.Name == q.Name }); at >= 0 {
				p.Hubs[at].StoredCopies++
			}
		}
		// A change needs a majority of the desired copies.
		p.ToleratedFailures = max(0, min(p.ToleratedFailures, n-c.Desired/2-1))
		if p.Complete = p.Complete && n == c.Desired; i == 0 || n < p.Copies {
			p.Copies = n
		}
	}
}

// lacksMost returns a refusal if this hub has no connection to a majority of the hubs, because the
// store does not answer then. It uses only the state of connections and sends nothing. job
// completes "cannot …".
func (h *HubStatus) lacksMost(job string) error {
	if h.peers == nil || h.ExternalNats {
		return nil
	}
	var away []string
	for _, m := range h.Records.Members.Values() {
		if m.Name != h.Hub && !h.joint().IsConnected(m.Name) {
			away = append(away, m.Name)
		}
	}
	return withoutMost(h, job, "cannot reach", away)
}

// withoutMost returns a refusal of a change if the remaining hubs are not a majority of the voters.
func withoutMost(h *HubStatus, job, cannot string, away []string) error {
	// A hub that is listed but has never connected has no vote yet.
	if len(h.Records.Members.Values())-len(away) > h.joint().Voters()/2 {
		return nil
	}
	why := fmt.Sprintf("cannot %s: a change needs more than half of the hubs. "+
		"%s %s %s. Agents keep their assignments, and each running hub still shows its last known state",
		job, h.Hub, cannot, strings.Join(away, ", "))
	return &api.Refusal{Status: http.StatusConflict, Why: why, Hint: h.MostHint()}
}

// unresponsiveAfter limits the time in which another hub must answer. A healthy hub answers at
// once.
const unresponsiveAfter = time.Second

// unresponsiveHubs returns the names of the hubs that do not answer. An open connection is not an
// answer: a connection to a hub that hangs stays open for some seconds.
func unresponsiveHubs(ctx context.Context, h *HubStatus) []string {
	if h.peers == nil || h.ExternalNats {
		return nil
	}
	var names []string
	for _, m := range h.Records.Members.Values() {
		names = append(names, m.Name)
	}
	ctx, stop := context.WithTimeout(ctx, unresponsiveAfter)
	defer stop()
	return h.joint().Unresponsive(ctx, names)
}

// MissingHubs returns an error with the names of the hubs that do not answer, or nil if all answer.
func MissingHubs(ctx context.Context, h *HubSet) error {
	silent := unresponsiveHubs(ctx, h.HubStatus)
	if len(silent) == 0 {
		return nil
	}
	why := fmt.Errorf("%s gets no answer from %s", h.Hub, strings.Join(silent, ", "))
	return cmp.Or(withoutMost(h.HubStatus, "change anything now", "gets no answer from", silent), why)
}

// MayChange returns a refusal if no change is possible now, so that a request fails before any
// effect.
func (h *HubStatus) MayChange() error { return h.lacksMost("change anything now") }

// MostHint returns the hint for a store that does not answer. While most hubs are down, the store
// accepts no changes.
func (h *HubStatus) MostHint() string {
	if h.peers == nil || h.ExternalNats {
		return ""
	}
	return "More than half of the hubs must run: start the missing hubs, or rebuild the fleet from a remaining hub: " +
		"docs/fleet-operations.md, Most hubs are lost"
}
