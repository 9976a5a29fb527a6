package elastic_test

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestGrow: a high load lets the fleet grow from one hub to three, after it was high for some time.
func TestGrow(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d1 0", "n2 d2 0", "n3 d3 0").load(0.8)
	s.pass(20*time.Second).want("", "1 hub, as needed").size(1)
	s.tick(5 * time.Second)
	s.want("nominate n2", "the fleet needs 3 hubs and has 1: the load of the hubs was at least 80 % for 20s").size(3)
	s.perform().tick(5 * time.Second)
	s.want("", "the last change was less than 10s ago").tick(5 * time.Second)
	s.want("nominate n3", "the fleet needs 3 hubs and has 2").perform().load(0.8)
	s.until("vote a n2 n3", "n2 and n3 can vote, so 1 of 3 voters can fail").perform()
	s.until("nominate n1", "the fleet needs 4 hubs and has 3").size(4).perform()
	s.load(0.5).pass(20*time.Second).want("", "the fleet has 4 hubs, as needed")
}

// TestHighLoad: each number of the load counts, up to its limit. A load that is high for less time does not count.
func TestHighLoad(t *testing.T) {
	for name, c := range map[string]struct{ low, high fleet.HubLoad }{
		"connections": {fleet.HubLoad{Connections: 7999}, fleet.HubLoad{Connections: 8000}},
		"cpu":         {fleet.HubLoad{CPU: 0.639}, fleet.HubLoad{CPU: 0.641}},
		"lag":         {fleet.HubLoad{EventLag: 7999}, fleet.HubLoad{EventLag: 8000}},
		"handshakes":  {fleet.HubLoad{Handshakes: 159}, fleet.HubLoad{Handshakes: 160}},
	} {
		for high, l := range map[bool]fleet.HubLoad{false: c.low, true: c.high} {
			s := newSite(t, "a d1 vote fixed").nodes("n1 d1 0")
			l.DiskFree = 1
			s.in.Hubs[0].Load = &l
			s.pass(30 * time.Second)
			if grown := s.state.Size == 3; grown != high {
				t.Errorf("%s %v: size %d", name, l, s.state.Size)
			}
		}
	}
	s := newSite(t, "a d1 vote fixed").nodes("n1 d1 0").load(0.9).pass(15 * time.Second)
	s.load(0.1).pass(5 * time.Second)
	s.load(0.9).pass(15 * time.Second).size(1)
}

// TestMeanLoad: the mean of the hubs counts. A single hub with a problem counts at most twice its limit, and a hub that
// does not report its load does not count.
func TestMeanLoad(t *testing.T) {
	three := func() *site { return newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d1 0") }
	s := three()
	s.hub("a").Load.EventLag = 1_000_000
	s.load(0.19).pass(time.Minute).size(3)
	s.load(0.21).pass(time.Minute).size(4)
	s = three().load(0.85)
	s.hub("c").Load = nil
	s.pass(time.Minute).size(4)
	s = three().load(0.85)
	s.silent = []string{"c"}
	s.pass(time.Minute).size(3) // two hubs serve, and the size is three already
}

// TestLargerSizes: the size grows by one from three on, up to the maximum of the policy.
func TestLargerSizes(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("b d2 0", "c d3 0", "d d4 0", "e d5 0", "f d6 0").load(1)
	for _, c := range []struct {
		max  int
		what string
		size int
	}{{5, "nominate b", 3}, {5, "nominate c", 3}, {5, "vote a b c", 3}, {5, "nominate d", 4}, {5, "nominate e", 5},
		{5, "vote a b c d e", 5}, {5, "", 5}, {7, "nominate f", 6}, {7, "", 7}} {
		s.in.Policy.Max = c.max
		s.until(c.what, "").size(c.size)
		if c.what != "" {
			s.perform().load(1)
		}
	}
	s.want("", "the fleet needs 7 hubs and has 6, and no other host can become a hub now")
	for most, want := range map[int]int{1: 1, 2: 2, 3: 3} {
		s := newSite(t, "a d1 vote fixed").nodes("b d2 0").load(1)
		s.in.Policy.Max = most
		s.pass(time.Minute).size(want)
	}
	s = newSite(t, "a d1 vote fixed", "b d2").load(1)
	s.size(0).pass(time.Minute).size(3)
}

// TestShrink: the fleet shrinks if the load would be low with fewer hubs for a longer time.
func TestShrink(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").load(0.16665)
	s.pass(30*time.Minute).want("", "3 hubs, as needed").size(3).tick(5 * time.Second)
	s.size(1)
	s.want("vote a", "for 30m, the load would have been less than 50 % with 1 hub, and the number of voters is odd")
	s.perform().until("empty b", "the fleet needs 1 hub and has 3: for 30m").accept()
	s.hub("b").Load.Connections = 3
	s.tick(5 * time.Second)
	s.want("empty b", "the fleet needs 1 hub").hub("b").Load.Connections = 0
	s.tick(5 * time.Second)
	s.want("retire b", "the fleet needs 1 hub").perform()
	s.pass(4*time.Minute+55*time.Second).want("", "2 hubs and needs 1, and the last change was less than 5m ago")
	s.tick(5 * time.Second)
	s.want("empty c", "").perform().until("retire c", "").perform()
	s.pass(time.Hour).want("", "1 hub, as needed")
}

// TestNoShrink: a load that is not low, a hub that does not report it, or a hub that does not answer prevents this.
func TestNoShrink(t *testing.T) {
	three := func() *site { return newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").load(0.1) }
	three().load(0.16675).pass(time.Hour).size(3)
	s := three()
	s.hub("b").Load = nil
	s.pass(time.Hour).size(3)
	s = three().pass(25 * time.Minute)
	s.silent = []string{"b"}
	s.pass(20 * time.Second)
	s.silent = nil
	s.pass(25 * time.Minute).size(3).pass(6 * time.Minute).size(1)
	s = three()
	s.in.Policy.Min = 3
	s.pass(time.Hour).size(3)
	s = three()
	s.in.Policy.Min = 2
	s.pass(time.Hour).size(2)
	s = three()
	s.hub("b").Fixed = true
	s.pass(time.Hour).size(2)
	s = newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote", "d d4").load(0.37).pass(40 * time.Minute).size(3)
	s.want("empty d", "")
	newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote", "d d4").load(0.38).pass(40 * time.Minute).size(4)
}

// TestSizeOfOperators: the present hubs, the policy and hubs of operators determine the size at once.
func TestSizeOfOperators(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote", "d d3").load(0.4)
	s.tick(0)
	s.size(4).want("", "4 hubs, as needed")
	s.in.Policy.Max = 3
	s.tick(5 * time.Second)
	s.size(3).want("empty d", "the fleet needs 3 hubs and has 4: the policy does not allow more hubs")
	s.in.Policy.Min, s.in.Policy.Max = 5, 5
	s.tick(5 * time.Second)
	s.size(5).want("", "the fleet needs 5 hubs and has 4, and no other host")
	if s.state.SizeReason != "operators joined hubs, or the policy requires this number" {
		t.Error(s.state.SizeReason)
	}
	s = newSite(t, "a d1 vote fixed", "b d2 fixed", "c d3 fixed", "d d4 fixed").load(0)
	s.in.Policy.Max = 3
	s.pass(time.Hour).size(4).want("vote a b c", "b and c can vote")
	s = newSite(t, "a d1 vote fixed")
	s.tick(0)
	s.size(1).join("b d2 fixed")
	s.tick(5 * time.Second)
	s.size(2)
}
