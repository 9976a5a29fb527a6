package line

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func place(text string) netip.Prefix { return placeOf(netip.MustParseAddr(text)) }

// One address has at most a quarter of the connections for strangers, all of them have the
// whole, and a connection that has authenticated makes room.
func TestTally(t *testing.T) {
	var c tally
	fill := func(from netip.Prefix) (n int) {
		for c.add(from, 20, 8) {
			n++
		}
		return n
	}
	if n := fill(place("192.0.2.1")); n != 2 {
		t.Errorf("one address has %d of 8", n)
	}
	for i := 2; i <= 4; i++ {
		fill(place(fmt.Sprintf("192.0.2.%d", i)))
	}
	if c.strangers != 8 || c.add(place("192.0.2.9"), 20, 8) {
		t.Errorf("%d strangers of 8", c.strangers)
	}
	c.known(place("192.0.2.1"))
	if !c.add(place("192.0.2.1"), 20, 8) || c.add(place("192.0.2.1"), 20, 8) || c.open != 9 {
		t.Errorf("after one has authenticated: %+v", c)
	}
	c.remove(place("192.0.2.2"), true)
	c.remove(place("192.0.2.1"), false)
	if c.open != 7 || c.strangers != 7 || c.of[place("192.0.2.2")] != 1 {
		t.Errorf("after two have ended: %+v", c)
	}
}

// Connections that have authenticated count in the total.
func TestTallyTotal(t *testing.T) {
	var c tally
	for i := range 3 {
		from := place(fmt.Sprintf("192.0.2.%d", i))
		if !c.add(from, 3, 100) {
			t.Fatal("below the total")
		}
		c.known(from)
	}
	if c.add(place("192.0.2.9"), 3, 100) || len(c.of) != 0 {
		t.Errorf("above the total: %+v", c)
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
