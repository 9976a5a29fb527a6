package agentconn

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func place(text string) netip.Prefix { return placeOf(netip.MustParseAddr(text)) }

// site is a tally with the limits of a listener.
type site struct {
	tally
	most, strangers int
	now             time.Time
}

// come counts a new connection of an address, and returns it and the connection that loses its
// place; nil for both if it is refused.
func (s *site) come(from string) (b, displaced *Bounded) {
	p := place(from)
	if !s.room(s.most, s.strangers) {
		if displaced = s.yields(p, s.now); displaced == nil {
			return nil, nil
		}
		s.remove(displaced)
	}
	b = &Bounded{from: p, stranger: true, opened: s.now}
	s.add(b)
	return b, displaced
}

func (s *site) counts(from string) int {
	if c := s.of[place(from)]; c != nil {
		return len(c.conns)
	}
	return 0
}

// One address has all places that no other address needs. If there is no other place, the address
// with the most strangers loses one to an address with fewer.
func TestTally(t *testing.T) {
	s := site{most: 20, strangers: 8, now: time.Unix(1_800_000_000, 0)}
	for range 8 {
		if b, _ := s.come("192.0.2.1"); b == nil {
			t.Fatal("one address does not get a free place")
		}
	}
	if b, _ := s.come("192.0.2.1"); b != nil {
		t.Error("a connection displaced a new one of its own address")
	}
	for i := range 4 {
		if _, displaced := s.come("192.0.2.2"); displaced == nil || displaced.from != place("192.0.2.1") {
			t.Errorf("connection %d of another address displaced %+v", i, displaced)
		}
	}
	if _, displaced := s.come("192.0.2.2"); displaced != nil {
		t.Errorf("an address has more than another one: %d and %d", s.counts("192.0.2.1"), s.counts("192.0.2.2"))
	}
	for i := 3; i < 11; i++ {
		s.come(fmt.Sprintf("192.0.2.%d", i))
	}
	if b, displaced := s.come("192.0.2.99"); b == nil || displaced == nil || s.strangers != 8 || s.open != 8 {
		t.Errorf("of 8 addresses with one connection each, none made place for another one: %+v", s.tally)
	}
}

// After a while, a stranger loses its place also to a new one of its own address.
func TestTallyGrace(t *testing.T) {
	s := site{most: 20, strangers: 2, now: time.Unix(1_800_000_000, 0)}
	first, _ := s.come("192.0.2.1")
	s.now = s.now.Add(graceTime - 1)
	second, _ := s.come("192.0.2.1")
	if b, _ := s.come("192.0.2.1"); b != nil {
		t.Error("a connection lost its place before its time")
	}
	s.now = s.now.Add(1)
	if _, displaced := s.come("192.0.2.1"); displaced != first || displaced == second {
		t.Errorf("displaced %+v", displaced)
	}
}

// Connections that have authenticated count in the total. A stranger takes none of their places.
func TestTallyTotal(t *testing.T) {
	s := site{most: 3, strangers: 100, now: time.Unix(1_800_000_000, 0)}
	for i := range 3 {
		b, _ := s.come(fmt.Sprintf("192.0.2.%d", i))
		if b == nil {
			t.Fatal("below the total")
		}
		s.known(b, s.now)
		b.stranger = false
	}
	if b, _ := s.come("192.0.2.9"); b != nil || len(s.of) != 0 || s.open != 3 {
		t.Errorf("above the total: %+v", s.tally)
	}
}

func TestPlaceOf(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := place(text).String(); got != want {
			t.Errorf("%s counts as %s", text, got)
		}
	}
}

// A log has one message a minute, which counts the others.
func TestSeldom(t *testing.T) {
	var s Seldom
	now := time.Unix(1_800_000_000, 0)
	if got := s.Next("a", now); got != "a" {
		t.Errorf("the first message is %q", got)
	}
	for range 5 {
		if got := s.Next("b", now.Add(seldomEvery-1)); got != "" {
			t.Errorf("too early: %q", got)
		}
	}
	if got := s.Next("c", now.Add(seldomEvery)); !strings.HasPrefix(got, "c") || !strings.Contains(got, "5 similar") {
		t.Errorf("after a minute: %q", got)
	}
}
