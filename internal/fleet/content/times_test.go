package content

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestTimesOfFollowing: the exact time of each poll, except for the random part of at most a tenth.
func TestTimesOfFollowing(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	at := func(f *Follow) time.Duration {
		next, ok := f.Next()
		if !ok {
			return -1
		}
		return next.Sub(now)
	}
	between := func(what string, got, pause time.Duration) {
		t.Helper()
		if got > pause || got <= pause-pause/10 {
			t.Errorf("%s: after %s, want %s or up to a tenth less", what, got, pause)
		}
	}
	for _, c := range []struct {
		every, gap, want time.Duration
	}{{time.Minute, 0, time.Minute}, {time.Second, 0, 5 * time.Second}, {time.Second, time.Second / 2, time.Second},
		{0, time.Second, time.Second}, {time.Hour, 0, time.Hour}} {
		f := Follow{Gap: c.gap}
		f.Watch("a", c.every, now)
		if at(&f) != 0 || !slices.Equal(f.Due(now), []string{"a"}) || at(&f) != -1 {
			t.Errorf("%+v: it is not due at once", c)
		}
		f.Done("a", true, now)
		between(fmt.Sprint(c), at(&f), c.want)
		for i, pause := range []time.Duration{1, 2, 4, 8} {
			f.sources["a"].at = now
			f.Due(now)
			f.Done("a", false, now)
			between(fmt.Sprint(c, " failure ", i), at(&f), min(pause*c.want, max(MaxPause, c.want)))
		}
		for range 30 {
			f.sources["a"].at = now
			f.Due(now)
			f.Done("a", false, now)
		}
		between(fmt.Sprint(c, " always"), at(&f), max(MaxPause, c.want))
		f.sources["a"].at = now
		f.Due(now)
		f.Done("a", true, now)
		between(fmt.Sprint(c, " again"), at(&f), c.want)
	}
	turns := map[time.Duration]bool{}
	g := Follow{}
	g.Watch("a", time.Hour, now)
	for range 5 {
		g.Done("a", true, now)
		turns[at(&g)] = true
	}
	if len(turns) < 2 {
		t.Error("each pause is the same, so many hubs ask at one moment for good")
	}
	f := Follow{}
	f.Watch("b", time.Minute, now)
	f.Watch("a", time.Minute, now.Add(1))
	if !slices.Equal(f.Due(now), []string{"b"}) || at(&f) != 1 || !slices.Equal(f.Due(now.Add(1)), []string{"a"}) {
		t.Error("a source is due too early")
	}
	f.Done("b", true, now)
	f.Watch("b", time.Hour, now)
	if between("as before", at(&f), time.Minute); f.sources["b"].every != time.Hour {
		t.Error("the new interval is not kept")
	}
	if f.Poke("b", now.Add(time.Second)); at(&f) != 5*time.Second {
		t.Errorf("a hook after a second: in %s", at(&f))
	}
	if f.Poke("b", now.Add(4*time.Second)); at(&f) != 5*time.Second {
		t.Errorf("a second hook moves it: in %s", at(&f))
	}
	f.Due(now.Add(5 * time.Second))
	if !f.Poke("b", now) || f.Poke("x", now) {
		t.Error("the wrong source is known")
	}
	if f.Done("b", true, now.Add(6*time.Second)); at(&f) != 10*time.Second {
		t.Errorf("a hook during the request: in %s", at(&f))
	}
	for range 100 {
		if d := dice("a", 1, 10); d < 0 || d >= 10 || dice("a", 1, 0) != 0 {
			t.Fatal(d)
		}
	}
	if dice("a", 1, time.Hour) == dice("a", 2, time.Hour) || dice("a", 1, time.Hour) == dice("b", 1, time.Hour) ||
		dice("a1", 1, time.Hour) == dice("a", 11, time.Hour) {
		t.Error("the dice do not depend on name and turn")
	}
}
