package machine

import (
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/window"
)

// TestWindowsOfAnAgent: the state of windows is evaluated again when its time is over, when the clock was set back, and
// when the zone or the assignment changes. Windows that cannot be read are closed, until they can.
func TestWindowsOfAnAgent(t *testing.T) {
	night := []window.Window{{Name: "night", Schedule: "0 2 * * *", Seconds: 3600, Zone: "target"}}
	at := func(hour, minute int) int64 { return time.Date(2026, 11, 28, hour, minute, 0, 0, time.UTC).UnixNano() }
	m := &core{}
	m.Accepted = &fleet.Assignment{Windows: night, Root: fleet.Assigned{Bundle: fleet.Bundle{Digest: "new"}}}
	m.Applied = &fleet.Assignment{}
	for i, c := range []struct {
		wall   int64
		zone   string
		closed bool
	}{
		{at(1, 59), "UTC", true}, {at(2, 0), "UTC", false}, {at(2, 59), "UTC", false}, {at(3, 0), "UTC", true},
		{at(2, 30), "UTC", false}, {at(1, 0), "UTC", true}, {at(1, 0), "Europe/Berlin", false}, {at(1, 0), "UTC", true},
	} {
		m.now.Wall, m.now.Zone = c.wall, c.zone
		if why := m.closed(); (why != "") != c.closed {
			t.Errorf("%d: %q", i, why)
		}
		if m.windows.to <= m.now.Wall || m.windows.to > m.now.Wall+int64(time.Hour) {
			t.Errorf("%d: it is valid from %d to %d", i, m.now.Wall, m.windows.to)
		}
	}
	m.Accepted.Generation, m.Accepted.Windows = 2, []window.Window{{Name: "bad", Schedule: "x", Seconds: 1}}
	for range 2 {
		if why := m.closed(); why == "" {
			t.Error("a window that cannot be read is open")
		}
	}
	m.Accepted.Generation, m.Accepted.Windows, m.now.Wall = 3, night, at(2, 10)
	if why := m.closed(); why != "" {
		t.Error(why)
	}
}

// TestSteadyExports: values that change soon after the last message wait for longer each time. After a calm time, they
// wait for a short time again.
func TestSteadyExports(t *testing.T) {
	x := &exporter{core: &core{}}
	for i := range x.due {
		x.due[i] = never
	}
	value := byte('a')
	change := func(after time.Duration) time.Duration {
		x.now.Mono += after
		value++
		x.exports([]exported.Own{{Output: "ip", Value: string(value)}})
		wait := x.due[exportTimer] - x.now.Mono
		x.shared, x.due[exportTimer] = x.now.Mono+wait, never // it is sent then
		x.now.Mono = x.shared
		return wait
	}
	for i, c := range []struct{ after, wait time.Duration }{
		{time.Second, firstSteady}, {time.Second, 2 * firstSteady}, {time.Second, 4 * firstSteady},
		{16 * firstSteady, 8 * firstSteady}, {32*firstSteady + 1, firstSteady}, {time.Second, 2 * firstSteady},
	} {
		if got := change(c.after); got != c.wait {
			t.Errorf("%d: it waits for %s, want %s", i, got, c.wait)
		}
	}
}

// TestLongReports: the texts of a report have a limit.
func TestLongReports(t *testing.T) {
	m := &core{}
	m.report(fleet.Event{Text: strings.Repeat("a", 2*longestText), Error: strings.Repeat("b", 2*longestText)})
	e := m.actions[0].(Append).Report.Event
	if len(e.Text) > longestText+9 || len(e.Error) > longestText+9 || e.Text == "" || e.Error == "" {
		t.Errorf("%d and %d bytes", len(e.Text), len(e.Error))
	}
}

// TestCancelledJobIsStored: the result of a cancelled job must survive the agent.
func TestCancelledJobIsStored(t *testing.T) {
	m := &jobs{core: &core{}}
	m.AcceptedJobs = []AcceptedJob{{Job: fleet.Job{ID: "begun"}, Begun: true}, {Job: fleet.Job{ID: "waits"}}}
	m.cancelJob("begun")
	m.cancelJob("unknown")
	if m.changed || m.AcceptedJobs[0].Answer != nil {
		t.Error("a job that began, or is unknown, was cancelled")
	}
	m.cancelJob("waits")
	if a := m.AcceptedJobs[1].Answer; !m.changed || a == nil || !a.Cancelled || a.ID != "waits" {
		t.Errorf("%+v", a)
	}
}

// TestPollsAfterAFailure: the time until the next question grows with failures, and an answer resets it.
func TestPollsAfterAFailure(t *testing.T) {
	m := &assignments{core: &core{cfg: Config{}.withDefaults()}}
	for range 9 {
		m.answered("no hub answers")
	}
	if m.failures[pollTimer] != 9 || m.due[pollTimer] > m.cfg.Poll {
		t.Errorf("%d failures, the next question after %s", m.failures[pollTimer], m.due[pollTimer])
	}
	if m.answered(""); m.failures[pollTimer] != 0 || m.due[pollTimer] < m.cfg.Poll/2 {
		t.Errorf("%d failures, the next question after %s", m.failures[pollTimer], m.due[pollTimer])
	}
}

// TestTextOfALayer: the reason why a need is not met says that a layer needs it.
func TestTextOfALayer(t *testing.T) {
	m := &core{}
	m.Accepted = &fleet.Assignment{}
	for layer, want := range map[bool]bool{true: true, false: false} {
		why := m.lacks(fleet.Need{Module: "modules/base", Layer: layer}, map[string]bool{})
		if why == "" || strings.Contains(why, "the layer module that all others need") != want {
			t.Errorf("%q", why)
		}
	}
}
