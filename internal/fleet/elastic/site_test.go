package elastic_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/elastic"
)

// origin is the time at which sites begin, in ms.
const origin = int64(1_700_000_000_000)

// site is a fleet in a unit test. Its hubs answer all the time, except silent ones.
type site struct {
	t      *testing.T
	state  elastic.State
	in     elastic.Input
	now    int64
	silent []string
	last   elastic.Decision
}

// newSite returns a site with hubs: "NAME DOMAIN" and the words vote, fixed, lagging or mute.
func newSite(t *testing.T, hubs ...string) *site {
	s := &site{t: t, now: origin, in: elastic.Input{Leader: strings.Fields(hubs[0])[0], Policy: elastic.DefaultPolicy()}}
	s.in.Policy.Mode = elastic.Act
	for _, h := range hubs {
		s.join(h)
	}
	return s
}

func (s *site) join(text string) {
	f := strings.Fields(text)
	h := elastic.Hub{Name: f[0], Silence: -1, Domain: f[1], Voter: slices.Contains(f, "vote"),
		Fixed: slices.Contains(f, "fixed"), Ready: !slices.Contains(f, "lagging"), Load: &fleet.HubLoad{DiskFree: 1}}
	if slices.Contains(f, "mute") {
		h.Load = nil
	}
	s.in.Hubs = append(s.in.Hubs, h)
}

// nodes adds hosts that can become hubs: "NAME DOMAIN RANK".
func (s *site) nodes(texts ...string) *site {
	for _, text := range texts {
		n := elastic.Node{Present: true}
		if _, err := fmt.Sscanf(text, "%s %s %d", &n.Name, &n.Domain, &n.Rank); err != nil {
			s.t.Fatal(text, err)
		}
		s.in.Nodes = append(s.in.Nodes, n)
	}
	return s
}

func (s *site) hub(name string) *elastic.Hub {
	for i := range s.in.Hubs {
		if s.in.Hubs[i].Name == name {
			return &s.in.Hubs[i]
		}
	}
	s.t.Fatal("no hub ", name)
	return nil
}

// load sets the load of each hub to a part of the limit of connections.
func (s *site) load(part float64) *site {
	for i := range s.in.Hubs {
		if l := s.in.Hubs[i].Load; l != nil {
			l.Connections = int(part * 10_000)
		}
	}
	return s
}

// tick decides once after a time.
func (s *site) tick(after time.Duration) elastic.Decision {
	s.now += after.Milliseconds()
	for i, h := range s.in.Hubs {
		switch {
		case !slices.Contains(s.silent, h.Name):
			s.in.Hubs[i].Silence = 0
		case h.Silence >= 0:
			s.in.Hubs[i].Silence += max(0, after) // the time of day may be set back
		}
	}
	s.state, s.last = elastic.Decide(s.state, s.in, s.now)
	return s.last
}

// pass decides every five seconds for a time, without accepting anything.
func (s *site) pass(d time.Duration) *site {
	for ; d > 0; d -= 5 * time.Second {
		s.tick(min(d, 5*time.Second))
	}
	return s
}

// want checks the last decision: "KIND NAME", or "vote NAME NAME", or "" for nothing, and a part of the reason.
func (s *site) want(what, reason string) *site {
	s.t.Helper()
	d := s.last
	got := strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Kind, d.Name, strings.Join(d.Voters, " ")))
	if got = strings.Join(strings.Fields(got), " "); got != what {
		s.t.Errorf("decision %q (%s), want %q", got, d.Reason, what)
	}
	if !strings.Contains(d.Reason, reason) {
		s.t.Errorf("the reason of %q is %q, want %q", got, d.Reason, reason)
	}
	return s
}

// accept accepts the last decision and performs it.
func (s *site) accept() *site {
	s.t.Helper()
	if !s.last.New {
		s.t.Fatalf("not new: %+v", s.last)
	}
	s.state = s.state.Accept(s.last, s.in.Policy, s.now)
	return s
}

// perform performs the last decision at once.
func (s *site) perform() *site {
	s.t.Helper()
	s.accept()
	switch d := s.last; d.Kind {
	case elastic.Nominate:
		for _, n := range s.in.Nodes {
			if n.Name == d.Name {
				s.join(n.Name + " " + n.Domain)
			}
		}
	case elastic.Vote:
		for i := range s.in.Hubs {
			s.in.Hubs[i].Voter = slices.Contains(d.Voters, s.in.Hubs[i].Name)
		}
	case elastic.Retire, elastic.Withdraw:
		s.in.Hubs = slices.DeleteFunc(s.in.Hubs, func(h elastic.Hub) bool { return h.Name == d.Name })
	}
	return s
}

// until decides until a new change, at most for an hour, and checks it.
func (s *site) until(what, reason string) *site {
	s.t.Helper()
	for range 720 {
		if s.tick(5 * time.Second); s.last.New {
			break
		}
	}
	return s.want(what, reason)
}

func (s *site) size(want int) *site {
	s.t.Helper()
	if s.state.Size != want {
		s.t.Errorf("size %d, want %d", s.state.Size, want)
	}
	return s
}
