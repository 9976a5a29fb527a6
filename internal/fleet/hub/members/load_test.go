package members

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// TestLoadsAndVotes: a hub that is not reachable has no load. Without a leader of the store, votes are unknown.
func TestLoadsAndVotes(t *testing.T) {
	page := func() document.HubPage {
		return document.HubPage{Hubs: []document.HubMember{{Name: "a", Reachable: true}, {Name: "b", Reachable: true},
			{Name: "c"}}}
	}
	p := page()
	addLoads(&p, map[string]fleet.HubLoad{"a": {Connections: 1}, "c": {Connections: 3}})
	if a := p.Hubs[0].Load; a == nil || a.Connections != 1 || p.Hubs[1].Load != nil || p.Hubs[2].Load != nil {
		t.Errorf("%+v", p.Hubs)
	}
	peers := []bus.Peer{{Name: "a"}, {Name: "c"}}
	addVotes(&p, peers, "")
	for _, h := range p.Hubs {
		if h.Voter != nil {
			t.Errorf("the vote of %s is known without a leader", h.Name)
		}
	}
	addVotes(&p, peers, "c")
	for i, votes := range []bool{true, false, true} {
		if v := p.Hubs[i].Voter; v == nil || *v != votes {
			t.Errorf("%+v", p.Hubs[i])
		}
	}
}

// TestReasonOfHub: the reason names the token with which a hub joined.
func TestReasonOfHub(t *testing.T) {
	for want, m := range map[string]records.Member{
		"created with the fleet":    {Name: "hub1"},
		"joined with token abc":     {Name: "hub2", Key: "k", By: "token abc"},
		"joined the existing fleet": {Name: "hub3", Key: "k"},
	} {
		if got := reasonOf(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
