package elastic_test

import (
	"testing"
	"time"
)

// TestVotes: the number of voters is odd, and not larger than the policy allows.
func TestVotes(t *testing.T) {
	for _, c := range []struct {
		hubs   []string
		voters int
		want   string
	}{
		{[]string{"a d1 vote", "b d2"}, 5, ""},
		{[]string{"a d1 vote", "b d2", "c d3"}, 5, "vote a b c"},
		{[]string{"a d1 vote", "b d2", "c d3"}, 1, ""},
		{[]string{"a d1 vote", "b d2", "c d3 lagging"}, 5, ""},
		{[]string{"a d1 vote", "b d1", "c d2", "d d3"}, 5, "vote a c d"},
		{[]string{"a d1 vote", "b d1", "c d1", "d d2 fixed"}, 5, "vote a b d"},
		{[]string{"a d1 vote", "b d1", "c d1 fixed", "d d1"}, 5, "vote a b c"},
		{[]string{"a d1 vote", "b d2", "c d3", "d d4", "e d5"}, 5, "vote a b c d e"},
		{[]string{"a d1 vote", "b d2", "c d3", "d d4", "e d5"}, 3, "vote a b c"},
		{[]string{"a d1 vote", "b d2 vote"}, 5, "vote a"},
		{[]string{"b d1 vote", "a d2 vote fixed"}, 5, "vote a"},
		{[]string{"b d1 vote", "a d2 vote"}, 5, "vote b"},
		{[]string{"a d1 vote", "b d2 vote", "c d1 vote", "d d4 vote"}, 5, "vote a b d"},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d4 vote", "e d4"}, 5, "vote a b c d e"},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d4 vote", "e d4 vote"}, 3, "vote a c e"},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d4 vote", "e d4 vote"}, 1, "vote a"},
	} {
		s := newSite(t, c.hubs...).load(0.5)
		s.in.Policy.Voters = c.voters
		s.tick(0)
		s.want(c.want, "")
	}
}

// TestFailedVoter: another hub votes instead of a voter that failed. Without another hub, its vote stays.
func TestFailedVoter(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").nodes("n1 d1 0", "n2 d2 0").load(0.4)
	s.tick(0)
	s.silent = []string{"b"}
	s.pass(5*time.Minute+5*time.Second).want("", "3 hubs, as needed").tick(5 * time.Second)
	s.want("nominate n2", "b has not answered for 5m, and the fleet needs 3 hubs").perform().load(0.4)
	s.until("vote a c n2", "b has not answered for 5m10s, so n2 votes instead").perform()
	s.until("retire b", "b has not answered for 5m20s").perform().pass(time.Minute).want("", "3 hubs, as needed")

	s = newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote").load(0.4).pass(time.Minute)
	s.silent = []string{"c"}
	s.pass(time.Hour).want("", "the fleet needs 3 hubs and has 2, and no other host can become a hub now")
}

// TestFailedVoters: of five voters, two fail. Their votes stay until there are hubs for them.
func TestFailedVoters(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d2 vote", "c d3 vote", "d d4 vote", "e d5 vote").load(0.7).pass(time.Minute)
	s.silent = []string{"d", "e"}
	s.pass(time.Hour).want("", "the fleet needs 5 hubs and has 3")
	s.in.Policy.Max = 4 // three voters are enough now
	s.until("vote a b c", "d has not answered for 59m55s, and the number of voters is odd").perform()
	s.until("retire d", "").perform().until("retire e", "")
}

// TestEvenVotersFail: a number of voters that is even, for example from operators, becomes odd also after a failure.
func TestEvenVotersFail(t *testing.T) {
	s := newSite(t, "a d1 vote", "b d2 vote", "c d3 vote", "d d4 vote").load(0.5)
	s.silent = []string{"b"}
	s.tick(0)
	s.want("vote a c d", "and the number of voters is odd")
}

// TestVotersStay: while hubs do not answer for a short time, or while most of the next voters would not work, nothing
// changes.
func TestVotersStay(t *testing.T) {
	s := newSite(t, "a d1 vote", "b d2 vote", "c d3 vote", "d d4").load(0.4)
	s.in.Policy.Max = 3
	s.pass(6 * time.Minute)
	s.silent = []string{"b", "c"}
	s.pass(10 * time.Second).tick(10 * time.Second)
	s.want("", "1 of 3 voters answer, which is not a majority")

	s = newSite(t, "a d1 vote", "b d2 vote", "c d3 vote", "d d4 vote").load(0.4)
	s.silent = []string{"c", "d"}
	s.tick(0)
	s.want("", "2 of 4 voters answer, which is not a majority")

	s = newSite(t, "a d1 vote", "b d2 vote lagging", "c d3 vote lagging").load(0.4)
	s.nodes("n1 d1 0").in.Policy.Min = 3
	s.join("d d4")
	s.hub("d").Load = nil
	s.tick(0)
	s.want("", "4 hubs, as needed") // b and c answer, but lack data: they have five minutes
}

// TestSpread: a voter is exchanged if voters are then spread better over failure domains, or if a hub of an operator
// votes then.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		hubs []string
		want string
	}{
		{[]string{"a d1 vote", "b d1 vote", "c d1 vote", "d d2"}, "vote b c d"},
		{[]string{"a d1 vote fixed", "b d1 vote", "c d1 vote", "d d2"}, "vote a c d"},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d2"}, ""},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d4"}, ""},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d2 fixed"}, "vote a c d"},
		{[]string{"a d1 vote", "b d2 vote", "c d3 vote", "d d4 fixed"}, "vote b c d"},
		{[]string{"a d1 vote fixed", "b d2 vote fixed", "c d3 vote", "d d2 fixed"}, ""},
		{[]string{"a d1 vote", "b d1 vote", "c d1 vote", "d d2 lagging"}, ""},
		{[]string{"a d1 vote", "b d1 vote", "c d2 vote", "d d3", "e d4"}, "vote a b c d e"},
	} {
		s := newSite(t, c.hubs...).load(0.5)
		s.tick(0)
		s.want(c.want, "")
		if c.want == "vote b c d" {
			s.want(c.want, "d votes instead of a, so that voters are spread over failure domains and stay")
		}
	}
	s := newSite(t, "a d1 vote", "b d1 vote", "c d2").load(0.5) // two voters: first one of them votes
	s.silent = []string{"c"}
	s.tick(0)
	s.want("vote a", "")
}

// TestSharedDomain: if voters share a failure domain, a node of a domain without a hub becomes a hub, and a hub of the
// shared domain leaves.
func TestSharedDomain(t *testing.T) {
	s := newSite(t, "a d1 vote fixed", "b d1 vote", "c d1 vote").nodes("n1 d1 0", "n2 d2 9").load(0.4)
	s.tick(0)
	s.want("nominate n2", "several voters are in one failure domain, and this host is in another one").perform().load(0.4)
	s.until("vote a c n2", "n2 votes instead of b").perform().load(0.3)
	s.until("empty b", "the fleet needs 3 hubs and has 4: the fleet had this number of hubs").perform()
	s.until("retire b", "").perform().pass(time.Minute).want("", "3 hubs, as needed")

	for _, p := range []struct{ most, voters int }{{3, 5}, {5, 1}} {
		s = newSite(t, "a d1 vote fixed", "b d1 vote", "c d1 vote").nodes("n2 d2 9").load(0.4)
		if s.in.Policy.Max, s.in.Policy.Voters = p.most, p.voters; p.voters == 1 {
			s.hub("b").Voter, s.hub("c").Voter = false, false
		}
		s.tick(0)
		s.want("", "3 hubs, as needed")
	}
	s = newSite(t, "a d1 vote fixed", "b d1 vote", "c d2 vote").nodes("n2 d2 0", "n3 d3 9").load(0.4)
	s.tick(0)
	s.want("nominate n3", "")
	s = newSite(t, "a d1 vote fixed", "b d1 vote", "c d2 vote").nodes("n2 d2 0", "n1 d1 9").load(0.4)
	s.tick(0)
	s.want("", "3 hubs, as needed")
}
