package load

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// healthy is far from all limits.
func healthy() fleet.HubLoad {
	return fleet.HubLoad{Connections: 100, ConnectionLimit: 1000, CPU: 0.2, DiskFree: 0.5, MemoryFree: 0.6,
		CertificateUntil: time.Unix(1_000_000, 0).Add(80 * 24 * time.Hour).Unix()}
}

// texts returns the texts of alarms without their hints.
func texts(all []assign.Alarm) string {
	var out []string
	for _, a := range all {
		text, _, _ := strings.Cut(strings.TrimPrefix(a.Text, "A hub is close to a limit: "), ". ")
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestLimits: each limit has an alarm, after the time for which the load must be high.
func TestLimits(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		change func(*fleet.HubLoad)
		holds  time.Duration
		want   string
	}{
		{func(l *fleet.HubLoad) { l.DiskFree = 0.09 }, 0, "hub1 has 9% of its disk free"},
		{func(l *fleet.HubLoad) { l.DiskFree = 0.1 }, 0, ""},
		{func(l *fleet.HubLoad) { l.DiskFree, l.DiskFreeBytes = 0.01, 8<<30 }, 0, ""},
		{func(l *fleet.HubLoad) { l.DiskFree = -1 }, 0, ""},
		{func(l *fleet.HubLoad) { l.MemoryFree = 0.02 }, 5 * time.Minute, "hub1 has 2% of its memory free"},
		{func(l *fleet.HubLoad) { l.MemoryFree = -1 }, 5 * time.Minute, ""},
		{func(l *fleet.HubLoad) { l.CPU = 0.95 }, 10 * time.Minute, "hub1 uses 95% of its CPUs"},
		{func(l *fleet.HubLoad) { l.CPU = 0.8 }, 10 * time.Minute, ""},
		{func(l *fleet.HubLoad) { l.Connections = 901 }, 0, "hub1 has 901 of at most 1000 connections"},
		{func(l *fleet.HubLoad) { l.Connections = 900 }, 0, ""},
		{func(l *fleet.HubLoad) { l.Connections, l.ConnectionLimit = 900, 0 }, 0, ""},
		{func(l *fleet.HubLoad) { l.EventLag = 10_001 }, 5 * time.Minute, "hub1 is 10001 events behind"},
		{func(l *fleet.HubLoad) { l.EventLag = 10_000 }, 5 * time.Minute, ""},
		{func(l *fleet.HubLoad) { l.CertificateUntil = began.Add(29 * 24 * time.Hour).Unix() }, 0,
			"hub1 has a certificate until 1970-02-10"},
		{func(l *fleet.HubLoad) { l.CertificateUntil = began.Add(-time.Hour).Unix() }, 0,
			"hub1 has a certificate until 1970-01-12"},
		{func(l *fleet.HubLoad) { l.CertificateUntil = began.Add(31 * 24 * time.Hour).Unix() }, 0, ""},
		{func(l *fleet.HubLoad) { l.CertificateUntil = 0 }, 0, ""},
	} {
		l := healthy()
		c.change(&l)
		var w Watch
		note := func(after time.Duration) {
			w.Note([]string{"hub1", "hub2"}, map[string]fleet.HubLoad{"hub1": l, "hub2": healthy()}, began.Add(after))
		}
		note(0)
		if c.holds > 0 {
			note(c.holds - time.Second)
			if got := texts(w.Alarms()); got != "" {
				t.Errorf("too early: %q", got)
			}
			note(c.holds)
		}
		if got := texts(w.Alarms()); got != c.want {
			t.Errorf("%+v: %q, want %q", l, got, c.want)
		}
	}
}

// TestAlarmsOfLimits: an alarm lasts until the load is clearly lower. An unknown load changes nothing, and a hub that
// leaves has no alarms.
func TestAlarmsOfLimits(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var w Watch
	hubs := []string{"hub1", "hub2"}
	want := func(free map[string]float64, want string) {
		t.Helper()
		loads := map[string]fleet.HubLoad{}
		for name, f := range free {
			l := healthy()
			l.DiskFree = f
			loads[name] = l
		}
		now = now.Add(5 * time.Second)
		if w.Note(hubs, loads, now); texts(w.Alarms()) != want {
			t.Errorf("%v: %q, want %q", free, texts(w.Alarms()), want)
		}
	}
	want(nil, "")
	want(map[string]float64{"hub1": 0.08, "hub2": 0.5, "other": 0.01}, "hub1 has 8% of its disk free")
	want(map[string]float64{"hub1": 0.13, "hub2": 0.13}, "hub1 has 13% of its disk free")
	want(map[string]float64{"hub1": 0.07, "hub2": 0.05}, "hub1 has 7% of its disk free, hub2 has 5% of its disk free")
	want(map[string]float64{"hub1": -1}, "hub1 has 7% of its disk free, hub2 has 5% of its disk free")
	want(map[string]float64{"hub1": 0.2}, "hub2 has 5% of its disk free")
	hubs = hubs[:1]
	want(nil, "")
	hubs = append(hubs, "hub2")
	want(map[string]float64{"hub2": 0.12}, "")
}

// TestHoldsAgain: if a load was high only for a short time, the waiting time starts again with the next high load.
func TestHoldsAgain(t *testing.T) {
	began := time.Unix(1_000_000, 0)
	var w Watch
	for _, c := range []struct {
		after time.Duration
		cpu   float64
		want  string
	}{{0, 0.95, ""}, {9 * time.Minute, 0.95, ""}, {9*time.Minute + 5*time.Second, 0.88, ""}, {10 * time.Minute, 0.95, ""},
		{19 * time.Minute, 0.95, ""}, {20 * time.Minute, 0.91, "hub1 uses 91% of its CPUs"},
		{21 * time.Minute, 0.86, "hub1 uses 86% of its CPUs"}, {22 * time.Minute, 0.84, ""}} {
		l := healthy()
		l.CPU = c.cpu
		w.Note([]string{"hub1"}, map[string]fleet.HubLoad{"hub1": l}, began.Add(c.after))
		if got := texts(w.Alarms()); got != c.want {
			t.Errorf("after %s: %q, want %q", c.after, got, c.want)
		}
	}
}
