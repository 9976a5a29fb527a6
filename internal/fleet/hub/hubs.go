package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// lookFor is how long what the store says of itself may take: without most hubs it says
// nothing, and that is an answer too.
const lookFor = 5 * time.Second

// Hubs are the hubs of the fleet.
func (h *Hub) Hubs(ctx context.Context) (document.HubPage, error) {
	ctx, stop := context.WithTimeout(ctx, lookFor)
	defer stop()
	p := document.HubPage{Format: document.HubPageFormat, Seen: h.set.Name, Hubs: []document.HubMember{}, Copies: 1, Complete: true}
	// Without most of the hubs the store does not answer: who is there is known all the same.
	once, done := context.WithTimeout(ctx, lookFor/2)
	leader, _ := bus.Holder(once, h.stores["leases"], "leader")
	done()
	for _, m := range h.members.values() {
		own := m.Name == h.set.Name
		p.Hubs = append(p.Hubs, document.HubMember{Name: m.Name, Hubs: m.Hubs, Buses: m.Buses, Here: own, Current: own, Leads: m.Name == leader, Authority: m.Authority, Joined: m.Joined * 1e9})
	}
	h.lost.each(func(_ string, m Member, _ uint64) {
		p.Lost = append(p.Lost, document.LostHub{Name: m.Name, Hubs: m.Hubs, Authority: m.Authority, Joined: m.Joined * 1e9})
	})
	if h.peers == nil {
		return p, nil
	}
	if h.isForeign() {
		h.seeForeign(ctx, &p)
		return p, nil
	}
	h.seePeers(ctx, &p)
	return p, nil
}

// seeForeign adds what is known where everything is kept by others: which hubs are there, and
// on how many servers of the cluster it is.
func (h *Hub) seeForeign(ctx context.Context, p *document.HubPage) {
	p.Nats = true
	peers, _ := h.joint().Peers(ctx)
	for i, m := range p.Hubs {
		if slices.ContainsFunc(peers, func(q bus.Peer) bool { return q.Name == m.Name }) {
			p.Hubs[i].Here, p.Hubs[i].Current = true, true
			p.Spare++
		}
	}
	p.Spare = max(0, p.Spare-1)
	copies, err := h.joint().Copies(ctx)
	p.Copies, p.Complete = 0, err == nil
	for i, c := range copies {
		n, want := 0, c.Want
		for _, q := range c.On {
			if q.Current {
				n++
			}
		}
		if c.Leader == "" && want == 1 {
			n = 1 // a server alone has no leader
		}
		if p.Complete = p.Complete && n == want; i == 0 || n < p.Copies {
			p.Copies = n
		}
	}
}

// seePeers adds what the bus knows of the others.
func (h *Hub) seePeers(ctx context.Context, p *document.HubPage) {
	peers, _ := h.joint().Peers(ctx)
	silent := unresponsiveHubs(ctx, h)
	here := 0
	for i, m := range p.Hubs {
		for _, q := range peers {
			if q.Name == m.Name {
				answers := !slices.Contains(silent, m.Name)
				p.Hubs[i].Here, p.Hubs[i].Current, p.Hubs[i].Lag = q.Here && answers, q.Current && answers, q.Lag
			}
		}
		if p.Hubs[i].Here {
			here++
		}
	}
	p.Spare = max(0, here-max(len(peers), len(p.Hubs))/2-1)
	copies, err := h.joint().Copies(ctx)
	p.Copies, p.Complete = 0, err == nil && len(peers) == len(p.Hubs)
	if err != nil {
		p.Spare = 0
	}
	for i, c := range copies {
		n := 0
		for _, q := range c.On {
			if q.Current {
				n++
			}
			if at := slices.IndexFunc(p.Hubs, func(m document.HubMember) bool { return m.Name == q.Name }); at >= 0 {
				p.Hubs[at].Keeps++
			}
		}
		// What is changed needs most of the copies that there are to be.
		p.Spare = max(0, min(p.Spare, n-c.Want/2-1))
		if p.Complete = p.Complete && n == c.Want; i == 0 || n < p.Copies {
			p.Copies = n
		}
	}
}

// lacksMost refuses what cannot be while most of the hubs are away: the store says nothing
// then. It asks nobody.
func (h *Hub) lacksMost(job string) error {
	if h.peers == nil || h.isForeign() {
		return nil
	}
	var away []string
	for _, m := range h.members.values() {
		if m.Name != h.set.Name && !h.joint().IsConnected(m.Name) {
			away = append(away, m.Name)
		}
	}
	return withoutMost(h, job, "cannot reach", away)
}

// withoutMost refuses a change if the remaining hubs are not most of the voters.
func withoutMost(h *Hub, job, cannot string, away []string) error {
	// A hub that is listed and was never there has no vote yet.
	if len(h.members.values())-len(away) > h.joint().Voters()/2 {
		return nil
	}
	why := fmt.Sprintf("cannot %s: nothing that hubs share can be changed while most of them are away. %s %s %s. Agents go on with what they have, and what is known can be read at each hub that is left", job, h.set.Name, cannot, strings.Join(away, ", "))
	return &api.Refusal{Status: http.StatusConflict, Why: why, Hint: h.mostHint()}
}

// unresponsiveAfter is the time in which another hub must answer. A healthy hub answers at once.
const unresponsiveAfter = time.Second

// unresponsiveHubs are the hubs that do not answer, also if there is still a connection with them: a
// connection with a frozen hub stays open for some seconds.
func unresponsiveHubs(ctx context.Context, h *Hub) []string {
	if h.peers == nil || h.isForeign() {
		return nil
	}
	var names []string
	for _, m := range h.members.values() {
		names = append(names, m.Name)
	}
	ctx, stop := context.WithTimeout(ctx, unresponsiveAfter)
	defer stop()
	return h.joint().Unresponsive(ctx, names)
}

// missingHubs is an error that names the hubs that do not answer; nil if all answer.
func missingHubs(ctx context.Context, h *Hub) error {
	silent := unresponsiveHubs(ctx, h)
	if len(silent) == 0 {
		return nil
	}
	why := fmt.Errorf("%s gets no answer from %s", h.set.Name, strings.Join(silent, ", "))
	return cmp.Or(withoutMost(h, "change anything now", "gets no answer from", silent), why)
}

// MayChange refuses changes that cannot be now: nothing was changed then.
func (h *Hub) MayChange() error { return h.lacksMost("change anything now") }

// RetireHub takes a hub out of the fleet.
func (h *Hub) RetireHub(ctx context.Context, by access.Who, name string, r document.HubRetirement) error {
	if err := h.retireHub(ctx, name, by.Name, r); err != nil {
		if refused, ok := errors.AsType[*pki.Refusal](err); ok {
			return &api.Refusal{Status: refused.Status, Why: refused.Text, Hint: "Look at: fettle hub list"}
		}
		return err
	}
	h.note(ctx, fleet.HubEvent{Kind: fleet.Left, By: by.Name, Text: fmt.Sprintf("the hub %s is retired: %s", name, r.Reason)})
	return nil
}

// checkHubToken says what is wrong with a token for a hub.
func (h *Hub) checkHubToken(r document.TokenRequest) error {
	if own, err := h.self(); r.Hub && err == nil && !own.Authority {
		return &api.Refusal{Status: http.StatusConflict, Why: "cannot make a token for a hub here: this one has not got the authority's key", Hint: h.holder()}
	}
	return nil
}
