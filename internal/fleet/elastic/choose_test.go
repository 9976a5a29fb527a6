package elastic_test

import (
	"testing"
	"time"
)

// TestChooseNode: the node in the failure domain with the fewest hubs, then with the smallest rank, then by name.
func TestChooseNode(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		want  string
	}{
		{[]string{"x d1 0", "y d2 1"}, "nominate y"},
		{[]string{"x d2 1", "y d3 0"}, "nominate y"},
		{[]string{"y d2 0", "x d3 0"}, "nominate x"},
		{[]string{"x d3 0", "y d2 0"}, "nominate x"},
		{[]string{"a d2 0", "x d1 0"}, "nominate x"},
		{[]string{"a d2 0"}, ""},
	} {
		s := newSite(t, "a d1 vote", "b d1").nodes(c.nodes...).load(0.7)
		s.in.Policy.Min = 3
		s.tick(0)
		s.want(c.want, "")
	}
	s := newSite(t, "a d1 vote").nodes("x d2 0", "y d1 5")
	s.in.Policy.Min, s.in.Nodes[0].Present = 3, false
	s.tick(0)
	s.want("nominate y", "the fleet needs 3 hubs and has 1: operators joined hubs, or the policy requires this number")
}

// TestChooseHubToEmpty: a relay of the failure domain with the most hubs, then the node with the largest rank. Voters,
// hubs of operators and, if possible, the leader stay.
func TestChooseHubToEmpty(t *testing.T) {
	for _, c := range []struct {
		hubs []string
		want string
	}{
		{[]string{"a d1 vote", "b d2", "c d2"}, "empty b"},
		{[]string{"a d1 vote", "b d2", "c d1"}, "empty c"},
		{[]string{"a d1 vote", "r1 d2", "r2 d2"}, "empty r2"},
		{[]string{"a d1 vote fixed", "b d2 fixed"}, ""},
		{[]string{"a d1 vote fixed", "b d2", "c d1 fixed"}, "empty b"},
		{[]string{"b d2", "a d1 vote", "c d3"}, "empty c"},
		{[]string{"b d2", "a d1 vote"}, "empty b"},
	} {
		s := newSite(t, c.hubs...).nodes("r1 d2 1", "r2 d2 2").load(0.2)
		s.in.Policy.Max, s.in.Policy.Voters = 1, 1
		s.tick(0)
		s.want(c.want, "")
		if c.want == "" {
			s.want("", "2 hubs, as needed")
		}
	}
	s := newSite(t, "a d1 vote", "b d2 vote", "c d3 vote fixed", "d d4 vote", "e d4 vote fixed").load(0.2)
	s.in.Policy.Max = 3
	s.tick(0)
	s.want("vote a c e", "the policy does not allow more hubs, and the number of voters is odd").perform()
	s.until("empty d", "").perform().until("retire d", "").perform()
	s.until("empty b", "").perform().until("retire b", "").perform().pass(time.Minute).want("", "3 hubs, as needed")
}

// TestRemainingHubs: more hubs than needed stay if each of them votes or was joined by an operator.
func TestRemainingHubs(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d1 fixed", "c d1 fixed", "d d2").load(0.2)
	s.tick(0)
	s.want("vote a b d", "").perform()
	s.in.Policy.Max = 1
	s.pass(10 * time.Minute)
	s.want("", "the fleet has 4 hubs and needs 3, and each of them votes or was joined by an operator")
}

// TestFullDisk: a hub whose disk is full for some time is replaced, and then moves its agents.
func TestFullDisk(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d1 0").load(0.3)
	s.tick(0)
	s.hub("b").Load.DiskFree = 0.049
	s.until("nominate n1", "b has had less than 5 % of its disk free for 5m, and the fleet needs 3 hubs")
	s.perform().load(0.3)
	s.until("vote a c n1", "b has had less than 5 % of its disk free for 5m10s, so n1 votes instead").perform()
	s.until("empty b", "b has had less than 5 % of its disk free for").perform()
	s.until("retire b", "b has had less than").perform().pass(time.Minute).want("", "3 hubs, as needed")

	s = newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d1 0").load(0.4)
	s.hub("b").Load.DiskFree = 0.05
	s.pass(20*time.Minute).want("", "3 hubs, as needed")
	s.hub("b").Ready = false
	s.until("nominate n1", "b has lacked data for 5m, and the fleet needs 3 hubs")
}

// TestFailedRelay: a relay that does not answer is retired without moving its agents. A hub of an operator stays.
func TestFailedRelay(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote", "d d4", "e d5 fixed").load(0.7)
	s.in.Policy.Voters = 3
	s.tick(0)
	s.want("vote a c e", "").perform().pass(time.Minute)
	s.silent = []string{"b", "e"}
	s.until("vote a c d", "e has not answered for 5m, so d votes instead").perform()
	s.perform().until("retire b", "b has not answered for 5m10s").perform()
	s.tick(5 * time.Second)
	if _, avoided := s.state.Avoid["b"]; !avoided {
		t.Error("b is not avoided")
	}
	s.pass(time.Hour).want("", "the fleet needs 5 hubs and has 3")
	s.silent = nil
	s.pass(time.Minute).want("vote a d e", "")
}

// TestAvoidedNode: a node that left or that was not ready in time is not nominated for some time.
func TestAvoidedNode(t *testing.T) {
	s := newSite(t, "a d1 vote fixed").nodes("n1 d2 0")
	s.in.Policy.Min = 3
	s.tick(0)
	s.want("nominate n1", "").accept().pass(time.Minute + 55*time.Second)
	if s.want("nominate n1", "operators joined hubs"); s.last.New {
		t.Error("the repetition is new")
	}
	s.tick(5 * time.Second)
	s.want("withdraw n1", "n1 did not become a hub within 2m").accept().tick(5 * time.Second)
	s.pass(59*time.Minute+50*time.Second).want("", "no other host can become a hub now").tick(5 * time.Second)
	s.want("nominate n1", "").accept()
	s.join("n1 d2 lagging")
	s.until("withdraw n1", "").accept().tick(5 * time.Second)
	if s.want("withdraw n1", ""); s.last.New {
		t.Error("the repetition is new")
	}
	s.in.Hubs = s.in.Hubs[:1]
	s.tick(5 * time.Second)
	s.want("", "no other host can become a hub now")
	if len(s.state.Reasons) != 0 || len(s.state.Good) != 1 {
		t.Error(s.state)
	}
}
