package window_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/window"
)

func nights(zone string) window.Window {
	return window.Window{Name: "nights", Schedule: "0 2 * * *", Seconds: 4 * 3600, Zone: zone}
}

func christmas() window.Window {
	return window.Window{Name: "christmas", Schedule: "0 0 20 12 *", Seconds: 14 * 24 * 3600, Zone: "Europe/Berlin",
		Deny: true}
}

func compile(t interface{ Fatal(...any) }, all ...window.Window) window.Set {
	s, err := window.Compile(all, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// Each case has the begin of a state, which ends at until.
func TestAt(t *testing.T) {
	hourly := window.Window{Name: "hourly", Schedule: "0 * * * *", Seconds: 3600, Zone: "UTC"}
	for _, c := range []struct {
		set   window.Set
		now   string
		open  bool
		until string
		why   string
	}{
		{window.Set{}, "2026-11-27T13:00:00Z", true, "", ""},
		{compile(t, nights("Europe/Berlin")), "2026-11-27T13:00:00Z", false, "2026-11-28T01:00:00Z",
			`outside the window "nights", which opens at 2026-11-28 02:00 CET`},
		{compile(t, nights("Europe/Berlin")), "2026-11-28T01:00:00Z", true, "2026-11-28T05:00:00Z", ""},
		{compile(t, nights("Europe/Berlin")), "2026-11-28T05:00:00Z", false, "2026-11-29T01:00:00Z",
			`outside the window "nights", which opens at 2026-11-29 02:00 CET`},
		{compile(t, christmas()), "2026-12-01T00:00:00Z", true, "2026-12-19T23:00:00Z", ""},
		{compile(t, christmas(), nights("UTC")), "2026-12-24T03:00:00Z", false, "2027-01-02T23:00:00Z",
			`inside the window "christmas", which denies changes until 2027-01-03 00:00 CET`},
		{compile(t, christmas(), nights("UTC")), "2026-12-19T22:30:00Z", false, "2026-12-20T02:00:00Z",
			`outside the window "nights", which opens at 2026-12-20 02:00 UTC`},
		// In spring the clock skips from 02:00 to 03:00, and in autumn the hour from 02:00 occurs twice.
		{compile(t, nights("Europe/Berlin")), "2026-03-29T00:30:00Z", false, "2026-03-29T01:00:00Z",
			`outside the window "nights", which opens at 2026-03-29 03:00 CEST`},
		{compile(t, nights("Europe/Berlin")), "2026-03-29T01:00:00Z", true, "2026-03-29T05:00:00Z", ""},
		{compile(t, nights("Europe/Berlin")), "2026-10-24T23:59:59Z", false, "2026-10-25T00:00:00Z",
			`outside the window "nights", which opens at 2026-10-25 02:00 CEST`},
		{compile(t, nights("Europe/Berlin")), "2026-10-25T01:30:00Z", true, "2026-10-25T04:00:00Z", ""},
	} {
		got := c.set.At(at(c.now))
		until := ""
		if !got.Until.IsZero() {
			until = got.Until.UTC().Format(time.RFC3339)
		}
		if got.Open != c.open || until != c.until || got.Why != c.why {
			t.Errorf("at %s:\n got %v until %s: %s\nwant %v until %s: %s", c.now,
				got.Open, until, got.Why, c.open, c.until, c.why)
		}
	}
	got := compile(t, hourly).At(at("2026-01-01T00:10:00Z"))
	if !got.Open || got.Until.Before(at("2026-01-10T00:00:00Z")) {
		t.Errorf("a window without a gap: %+v", got)
	}
}

// Time in which a set is closed does not count.
func TestOpenFor(t *testing.T) {
	s := compile(t, nights("UTC"))
	for _, c := range []struct {
		from, to string
		enough   time.Duration
		want     time.Duration
	}{
		{"2026-11-27T13:00:00Z", "2026-11-28T01:00:00Z", 24 * time.Hour, 0},
		{"2026-11-27T13:00:00Z", "2026-11-28T03:00:00Z", 24 * time.Hour, time.Hour},
		{"2026-11-27T13:00:00Z", "2026-11-30T13:00:00Z", 24 * time.Hour, 12 * time.Hour},
		{"2026-11-27T13:00:00Z", "2027-11-30T13:00:00Z", 24 * time.Hour, 24 * time.Hour},
	} {
		if got := s.OpenFor(at(c.from), at(c.to), c.enough); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, w := range []window.Window{
		{}, {Name: "a", Schedule: "@daily", Seconds: 3600, Zone: "UTC"},
		{Name: "a", Schedule: "0 2 * *", Seconds: 3600, Zone: "UTC"},
		{Name: "a", Schedule: "0 0 30 2 *", Seconds: 3600, Zone: "UTC"},
		{Name: "a", Schedule: "0 2 * * *", Seconds: 60, Zone: "UTC"},
		{Name: "a", Schedule: "0 2 * * *", Seconds: 3600, Zone: "Mars/Olympus"},
		{Name: "a", Schedule: "0 2 * * *", Seconds: 3600},
		{Name: "a", Schedule: "61 2 * * *", Seconds: 3600, Zone: "UTC"},
	} {
		if err := window.Check([]window.Window{w}); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}

// Until its end a state stays the same, also when the clocks change.
func TestStatesLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"}
		schedules := []string{"0 2 * * *", "30 1 * * 0", "*/30 1-3 * * *", "15 2 25-31 3,10 *", "0 0 1 * *", "0 22 * * 1-5"}
		var all []window.Window
		for range rapid.IntRange(1, 3).Draw(t, "windows") {
			all = append(all, window.Window{Name: "w", Schedule: rapid.SampledFrom(schedules).Draw(t, "schedule"),
				Seconds: rapid.Int64Range(window.MinSeconds, 3*24*3600).Draw(t, "seconds"),
				Zone:    rapid.SampledFrom(zones).Draw(t, "zone"),
				Deny:    rapid.Bool().Draw(t, "deny")})
		}
		s := compile(t, all...)
		begins := []string{"2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-06-01T00:00:00Z"}
		begin := rapid.SampledFrom(begins).Draw(t, "begin")
		now := at(begin).Add(time.Duration(rapid.IntRange(0, 72*3600).Draw(t, "now")) * time.Second)
		state := s.At(now)
		if state.Open == (state.Why != "") {
			t.Fatalf("open: %v, because %q", state.Open, state.Why)
		}
		if state.Until.IsZero() {
			return
		}
		if !state.Until.After(now) {
			t.Fatalf("at %s the state ended at %s", now, state.Until)
		}
		within := now.Add(time.Duration(rapid.Int64Range(0, int64(state.Until.Sub(now)-1)).Draw(t, "within")))
		if later := s.At(within); later.Open != state.Open {
			t.Fatalf("at %s it is open: %v, until %s; at %s: %v", now, state.Open, state.Until, within, later.Open)
		}
	})
}
