package choice_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus/choice"
)

var hubs = []string{"tls://a:1", "tls://b:1", "tls://c:1"}

func at(minutes int) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(minutes) * time.Minute)
}

// counts returns how often Next returns each address of all within 300 calls.
func counts(c *choice.Choice, all []string, now time.Time) map[string]int {
	out := map[string]int{}
	for range 300 {
		out[c.Next(all, now)]++
	}
	return out
}

func used(c *choice.Choice, all []string, now time.Time) []string {
	return slices.Sorted(maps.Keys(counts(c, all, now)))
}

// TestNext: without measurements all hubs are used, but none twice in succession, unless it is the only one.
func TestNext(t *testing.T) {
	var c choice.Choice
	before := ""
	for range 100 {
		u := c.Next(hubs, at(0))
		if u == before {
			t.Fatalf("%s twice in succession", u)
		}
		before = u
	}
	for u, n := range counts(&c, hubs, at(0)) {
		if n < 50 {
			t.Errorf("%s is used %d times of 300", u, n)
		}
	}
	if got := used(&c, hubs[:1], at(0)); !slices.Equal(got, hubs[:1]) {
		t.Errorf("of one address: %v", got)
	}
}

// TestNear: agents use near hubs. A far hub is used if the last attempt used the only near one.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		latency [3]time.Duration // 0: no answer; -1: not measured
		want    []string
	}{
		{[3]time.Duration{1e6, 7e6, 8e6}, hubs[:2]}, // twice 1 ms and 5 ms
		{[3]time.Duration{40e6, 85e6, 86e6}, hubs[:2]},
		{[3]time.Duration{1e6, 2e6, 0}, hubs[:2]},
		{[3]time.Duration{1e6, 2e6, -1}, hubs},
		{[3]time.Duration{1e6, 80e6, 80e6}, hubs}, // alternately, because no address is used twice in succession
		{[3]time.Duration{0, 0, 0}, hubs},
	} {
		var next choice.Choice
		for i, l := range c.latency {
			if l >= 0 {
				next.Note(hubs[i], l, at(0))
			}
		}
		if got := used(&next, hubs, at(1)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v are used, want %v", c.latency, got, c.want)
		}
	}
}

// TestMeasurementsExpire: a latency counts for an hour, and a failure for a minute. The smallest one counts.
func TestMeasurementsExpire(t *testing.T) {
	var c choice.Choice
	want := func(minute int, want ...string) {
		t.Helper()
		if got := c.Unknown(hubs, at(minute)); !slices.Equal(got, want) {
			t.Errorf("minute %d: %v are unknown, want %v", minute, got, want)
		}
	}
	want(0, hubs...)
	c.Note(hubs[0], 1e6, at(0))
	c.Note(hubs[1], 2e6, at(0))
	c.Note(hubs[2], 0, at(0))
	want(0)
	want(1, hubs[2])
	want(59, hubs[2])
	want(60, hubs...)
	c.Note(hubs[1], 90e6, at(2)) // the machine was busy
	c.Note(hubs[2], 3e6, at(2))
	if got := used(&c, hubs, at(3)); !slices.Equal(got, hubs) {
		t.Errorf("after another measurement: %v", got)
	}
	c.Note(hubs[1], 90e6, at(70))
	c.Note(hubs[0], 1e6, at(70))
	c.Note(hubs[2], 1e6, at(70))
	if got := used(&c, hubs, at(71)); !slices.Equal(got, []string{hubs[0], hubs[2]}) {
		t.Errorf("an hour later: %v", got)
	}
	if got := c.Unknown(hubs[:1], at(300)); got != nil {
		t.Errorf("a single address is measured: %v", got)
	}
}

// TestOrder: an order counts once, and only for near addresses that are known. A hub that leaves moves agents
// also to far hubs.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		some []string
		must bool
		want string // "": refused
	}{
		{hubs[1:2], false, hubs[1]},
		{hubs[2:], false, ""},
		{hubs[2:], true, hubs[2]},
		{[]string{hubs[2], hubs[1]}, true, hubs[1]},
		{hubs[:1], true, ""}, // the agent is connected to it
		{[]string{"tls://x:1"}, true, ""},
		{[]string{"tls://x:1", hubs[1]}, false, hubs[1]},
		{nil, true, ""},
	} {
		var next choice.Choice
		next.Note(hubs[0], 1e6, at(0))
		next.Note(hubs[1], 1e6, at(0))
		next.Note(hubs[2], 90e6, at(0))
		for next.Next(hubs[:2], at(0)) != hubs[0] {
		}
		if got := next.Order(c.some, hubs, c.must, at(0)); got != (c.want != "") {
			t.Errorf("%v, %v: obeys is %v", c.some, c.must, got)
		}
		if got := next.Next(hubs, at(0)); c.want != "" && got != c.want || c.want == "" && got != hubs[1] {
			t.Errorf("%v, %v: %s is next", c.some, c.must, got)
		}
	}
	var next choice.Choice
	next.Order(hubs[1:2], hubs, false, at(0))
	if got := next.Next(hubs[2:], at(0)); got != hubs[2] {
		t.Errorf("an address that is not known any longer is used: %s", got)
	}
	if n := counts(&next, hubs, at(0))[hubs[1]]; n > 200 {
		t.Errorf("an order counts more than once: %d", n)
	}
}

// TestFar: an agent is far if it used a far hub although a near one is known.
func TestFar(t *testing.T) {
	var c choice.Choice
	if c.Far(hubs, at(0)) {
		t.Error("far before the first attempt")
	}
	c.Next(hubs[2:], at(0))
	if c.Far(hubs, at(0)) {
		t.Error("far without a measurement")
	}
	c.Note(hubs[2], 90e6, at(0))
	c.Note(hubs[0], 0, at(0))
	c.Note(hubs[1], 0, at(0))
	if c.Far(hubs, at(0)) {
		t.Error("far although no other hub answers")
	}
	c.Note(hubs[0], 1e6, at(0))
	if !c.Far(hubs, at(0)) {
		t.Error("not far although a near hub answers")
	}
	if c.Far(hubs[:2], at(0)) {
		t.Error("far from a hub that is not known any longer")
	}
	c.Next(hubs[:1], at(0))
	if c.Far(hubs, at(0)) {
		t.Error("far from the nearest hub")
	}
}
