package elastic_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/elastic"
)

// TestModes: without a mode there are no decisions. With Propose, a decision is repeated and never accepted.
func TestModes(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d2 0").load(1)
	s.in.Policy.Mode = elastic.Off
	s.pass(time.Minute).want("", "the policy of the fleet does not let hubs decide about hubs")
	s.in.Policy.Mode = elastic.Propose
	for range 3 {
		s.pass(20*time.Second).want("nominate n1", "")
		if !s.last.New {
			t.Error("the proposal is not new")
		}
	}
	s.in.Policy.Mode = elastic.Act
	s.tick(5 * time.Second)
	s.want("nominate n1", "").accept()
	s.in.Policy.Mode = elastic.Propose
	s.tick(5 * time.Second)
	if s.state.Pending.Kind != elastic.Nothing {
		t.Error(s.state.Pending)
	}
}

// TestPending: an accepted change is returned again until it has its effect, and nothing else changes meanwhile.
func TestPending(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2", "c d3").load(0.5)
	s.tick(0)
	s.want("vote a b c", "").accept()
	s.hub("b").Voter = true
	for range 11 {
		s.tick(10 * time.Second)
		if s.want("vote a b c", ""); s.last.New || s.last.Since != origin {
			t.Errorf("%+v", s.last)
		}
	}
	s.tick(10 * time.Second) // two minutes after it began
	s.want("vote a b c", "")
	if !s.last.New {
		t.Error("the change was not given up")
	}

	s = newSite(t, "a d1 vote fixed", "b d2", "c d3").load(0.5)
	s.tick(0)
	s.accept()
	s.silent = []string{"a"}
	s.pass(20*time.Second).want("", "0 of 1 voters answer, which is not a majority")
	s.silent = nil
	s.tick(5 * time.Second)
	s.want("vote a b c", "")
	s.hub("b").Voter, s.hub("c").Voter = true, true
	s.tick(5 * time.Second)
	s.want("", "3 hubs, as needed")
}

// TestEmptyEnds: a hub has some time to move its agents. If it fails or if the operator keeps it, this ends earlier.
func TestEmptyEnds(t *testing.T) {
	begin := func() *site {
		s := newSite(t, "a d1 vote fixed", "b d2").load(0.2)
		s.in.Policy.Max = 1
		s.tick(0)
		return s.want("empty b", "").accept()
	}
	s := begin().pass(9*time.Minute+55*time.Second).want("empty b", "")
	s.tick(5 * time.Second)
	s.want("retire b", "the policy does not allow more hubs; agents that it still has connect to other hubs").accept()
	s.tick(5 * time.Second)
	s.want("retire b", "")
	s.hub("b").Fixed = true
	s.tick(5 * time.Second)
	s.want("", "the fleet has 2 hubs, as needed")

	s = begin()
	s.silent = []string{"b"}
	s.pass(5*time.Minute+5*time.Second).want("empty b", "").tick(5 * time.Second)
	s.want("retire b", "agents that it still has connect to other hubs")

	s = begin()
	s.hub("b").Load = nil
	s.pass(time.Minute).want("empty b", "").hub("b").Load = &fleet.HubLoad{}
	s.silent = []string{"b"}
	s.pass(20*time.Second).want("empty b", "")
	s.silent = nil
	s.tick(5 * time.Second)
	s.want("retire b", "")

	s = begin()
	s.hub("b").Voter = true
	s.tick(5 * time.Second)
	s.want("", "less than 10s ago")
}

// TestNewLeader: another leader waits before it treats hubs as failed, and continues the accepted change.
func TestNewLeader(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d4 0").load(0.4)
	s.tick(0)
	s.silent = []string{"c"}
	s.pass(4*time.Minute + 55*time.Second)
	s.in.Leader = "b"
	s.pass(4*time.Minute+55*time.Second).want("", "3 hubs, as needed").tick(5 * time.Second)
	s.tick(5 * time.Second)
	s.want("nominate n1", "c has not answered for").accept()
	s.in.Leader = "a"
	s.pass(2*time.Minute).want("nominate n1", "").tick(5 * time.Second)
	s.want("withdraw n1", "")
	if s.state.Observer != "a" || s.state.Decided != s.now {
		t.Error(s.state)
	}
}

// TestClock: if the clock jumps, or no hub decides for a while, all waiting times begin again.
func TestClock(t *testing.T) {
	for _, jump := range []time.Duration{61 * time.Second, -time.Second, -time.Hour, 24 * time.Hour} {
		s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d4 0").load(0.9)
		s.tick(0)
		s.silent = []string{"c"}
		s.pass(4*time.Minute + 50*time.Second)
		s.in.Hubs[1].Load, s.in.Hubs[0].Load = nil, nil
		s.tick(jump)
		s.pass(4*time.Minute+55*time.Second).want("", "").tick(5 * time.Second)
		s.want("nominate n1", "c has not answered for 5m")
	}
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d4 0").load(0.4)
	s.tick(0)
	s.silent = []string{"c"}
	for range 4 {
		s.tick(time.Minute)
	}
	s.tick(time.Minute) // such a gap is not a jump
	s.want("nominate n1", "c has not answered for 5m")
}

// TestLoadAfterJump: the time of a high load begins again after a jump, and so do other times.
func TestLoadAfterJump(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d4 0").load(1).pass(20 * time.Second)
	s.tick(time.Hour)
	s.pass(15 * time.Second).size(1).pass(5 * time.Second).size(3)

	s = newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").load(0.1).pass(30 * time.Minute)
	s.tick(time.Hour)
	s.pass(29*time.Minute + 55*time.Second).size(3).pass(5 * time.Second).size(1)

	s = newSite(t, "a d1 vote fixed").nodes("n1 d2 0", "n2 d2 0")
	s.in.Policy.Min = 3
	s.tick(0)
	s.accept().until("withdraw n1", "").accept()
	s.tick(-time.Hour)
	s.until("nominate n2", "")
	if got := s.state.Avoid["n1"] - s.now; got > time.Hour.Milliseconds() {
		t.Errorf("n1 is avoided for %d ms", got)
	}
	if s.state.Changed > s.now {
		t.Error(s.state.Changed)
	}
}

// TestHeartbeat: a heartbeat is valid for a short time.
func TestHeartbeat(t *testing.T) {
	s := newSite(t, "a d1 vote fixed")
	const enough = "the fleet has 1 hub, as needed"
	for silence, want := range map[time.Duration]string{-1: "0 of 1", 0: enough, 14_999 * time.Millisecond: enough,
		15 * time.Second: "0 of 1"} {
		s.in.Hubs[0].Silence = silence
		if _, d := elastic.Decide(elastic.State{}, s.in, origin); !strings.HasPrefix(d.Reason, want) {
			t.Errorf("%s: %s", silence, d.Reason)
		}
	}
	if _, d := elastic.Decide(elastic.State{}, elastic.Input{Policy: s.in.Policy}, origin); d.Kind != elastic.Nothing {
		t.Error(d)
	}
}

// TestAccept: the state after a decision contains it, and the state before does not change.
func TestAccept(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d2 0")
	s.in.Policy.Min = 3
	s.tick(0)
	before := s.state
	next := before.Accept(s.last, s.in.Policy, s.now+7)
	if before.Pending.Kind != "" || len(before.Reasons) != 0 || next.Changed != s.now+7 || next.Pending.Since != s.now+7 ||
		next.Pending.Name != "n1" || next.Reasons["n1"] != s.last.Reason || len(next.Avoid) != 0 {
		t.Errorf("%+v\n%+v", before, next)
	}
	vote := elastic.Decision{Change: elastic.Change{Kind: elastic.Vote, Voters: []string{"a", "b", "c"}}}
	next = before.Accept(vote, s.in.Policy, s.now)
	vote.Voters[0] = "x"
	if next.Pending.Voters[0] != "a" || len(next.Reasons) != 0 {
		t.Errorf("%+v", next)
	}
	for _, k := range []elastic.Kind{elastic.Retire, elastic.Withdraw} {
		next = before.Accept(elastic.Decision{Change: elastic.Change{Kind: k, Name: "b"}}, s.in.Policy, s.now)
		if next.Avoid["b"] != s.now+time.Hour.Milliseconds() {
			t.Errorf("%+v", next)
		}
	}
}

// TestStoredState: a state is the same after it was stored.
func TestStoredState(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d2 0")
	s.in.Policy.Min = 3
	s.tick(0)
	s.accept().until("withdraw n1", "").accept().tick(5 * time.Second)
	text, err := json.Marshal(s.state)
	if err != nil {
		t.Fatal(err)
	}
	var back elastic.State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	a, _ := elastic.Decide(back, s.in, s.now+5000)
	b, _ := elastic.Decide(s.state, s.in, s.now+5000)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// TestCheck: values that are not possible are refused.
func TestCheck(t *testing.T) {
	p := elastic.DefaultPolicy()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(p *elastic.Policy){
		"mode": func(p *elastic.Policy) { p.Mode = "maybe" }, "min": func(p *elastic.Policy) { p.Min = 0 },
		"max": func(p *elastic.Policy) { p.Max = 0 }, "voters": func(p *elastic.Policy) { p.Voters = 2 },
		"no voters": func(p *elastic.Policy) { p.Voters = 0 }, "7": func(p *elastic.Policy) { p.Voters = 7 },
		"connections": func(p *elastic.Policy) { p.Limits.Connections = 0 },
		"cpu":         func(p *elastic.Policy) { p.Limits.CPU = 0 },
		"lag":         func(p *elastic.Policy) { p.Limits.EventLag = 0 },
		"handshakes":  func(p *elastic.Policy) { p.Limits.Handshakes = 0 },
		"disk":        func(p *elastic.Policy) { p.DiskFree = 1 }, "less disk": func(p *elastic.Policy) { p.DiskFree = -0.1 },
		"low":  func(p *elastic.Policy) { p.Low = 0 },
		"high": func(p *elastic.Policy) { p.High = p.Low },
		"fail": func(p *elastic.Policy) { p.FailAfter = 15 * time.Second },
		"grow": func(p *elastic.Policy) { p.GrowAfter = 0 }, "shrink": func(p *elastic.Policy) { p.ShrinkAfter = 0 },
		"interval": func(p *elastic.Policy) { p.Interval = 0 }, "second": func(p *elastic.Policy) { p.ShrinkInterval = 0 },
		"ready": func(p *elastic.Policy) { p.ReadyWithin = 0 }, "empty": func(p *elastic.Policy) { p.EmptyWithin = 0 },
		"retry": func(p *elastic.Policy) { p.RetryAfter = -1 },
	} {
		p := elastic.DefaultPolicy()
		if change(&p); p.Check() == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for _, change := range []func(p *elastic.Policy){func(p *elastic.Policy) { p.Voters = 1 },
		func(p *elastic.Policy) { p.Voters = 3 }, func(p *elastic.Policy) { p.Max = 1 },
		func(p *elastic.Policy) { p.Limits.Connections, p.Limits.EventLag, p.Limits.Handshakes = 1, 1, 1 },
		func(p *elastic.Policy) { p.DiskFree = 0 }, func(p *elastic.Policy) { p.Mode = elastic.Propose },
		func(p *elastic.Policy) { p.Mode = elastic.Act }} {
		p := elastic.DefaultPolicy()
		if change(&p); p.Check() != nil {
			t.Errorf("%+v: %v", p, p.Check())
		}
	}
}
