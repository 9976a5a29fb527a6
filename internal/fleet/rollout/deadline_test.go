package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// deadlines checks that rollouts pause if and only if a gate has not passed in time, from the log alone.
func (f *fleet) deadlines(log []rollout.Event) {
	for i, e := range log {
		if e.Kind == rollout.Paused && e.Gate != "" {
			before := slices.Concat(f.log, log[:i])
			g, since, _ := f.waited(before, e.Rollout, e.Gate)
			if f.now-since < g.Timeout || g.DryRun || f.hasPassed(before, e.Rollout, g) ||
				!compared(before, e.Rollout, e.Wave, g) {
				f.tell("%s pauses because of the gate %s, which waits since %d of %d", e.Rollout, e.Gate, since, f.now)
			}
		}
	}
	all := slices.Concat(f.log, log)
	for _, r := range f.s.Open() {
		for _, declared := range r.Gates(r.Wave) {
			g, since, changed := f.waited(all, r.ID, declared.Name)
			if active := r.Phase == rollout.Active && r.Settled > 0 && !f.resync && !g.DryRun; active &&
				f.now-max(since, changed) > g.Timeout && !f.hasPassed(all, r.ID, g) && compared(all, r.ID, r.Wave, g) {
				f.tell("%s does not pause, and the gate %s waits since %d of %d", r.ID, g.Name, since, f.now)
			}
		}
	}
}

// waited returns a gate of the current wave of a rollout, and the times since which it waits at least and of its last
// event. Its time limit is set.
func (f *fleet) waited(log []rollout.Event, id, gate string) (g rollout.Gate, since, changed int64) {
	plan, wave, _, _ := last(log, id)
	g = plan.Waves[wave].Gates[slices.IndexFunc(plan.Waves[wave].Gates,
		func(g rollout.Gate) bool { return g.Name == gate })]
	if g.Timeout == 0 {
		g.Timeout = plan.Strategy.WaveTimeout + max(plan.Waves[wave].Bake, int64(g.Count-1)*g.Interval)
	}
	since = f.up
	for _, e := range log {
		switch {
		case e.Rollout != id:
		case e.Kind == rollout.Settled, e.Kind == rollout.Resumed:
			since = max(since, e.At)
		case e.Gate == gate:
			changed = e.At
		}
	}
	return g, since, changed
}

// hasPassed reports whether a gate permits the end of its wave.
func (f *fleet) hasPassed(log []rollout.Event, id string, g rollout.Gate) bool {
	a, _ := given(log, id, g.Name)
	if g.Type != rollout.ApprovalGate {
		return a.pass && a.passes >= g.Count && a.failures <= g.FailureLimit
	}
	plan, _, _, _ := last(log, id)
	return !a.rejected && f.approvals(plan, g, a) >= g.Need
}

// TestDeadline: a gate without its verdict pauses the rollout, and the time begins again after its resumption.
func TestDeadline(t *testing.T) {
	g := board(2)
	g.Timeout = 300
	f := gated(t, g)
	f.gate(t, true, approve("ann"))
	f.rest(290)
	if f.phase("r2") != rollout.Active {
		t.Fatal(f.text())
	}
	f.rest(20)
	want := "the gate board of the wave first has not passed within 5m: it waits for the approval of 1 of 2 users (board)"
	if r := f.s.Rollouts["r2"]; r.Phase != rollout.OnHold || r.Why != want || f.have("w2") != 1 {
		t.Fatalf("%q\n%s", r.Why, f.text())
	}
	f.command(t, rollout.ToResume, "")
	f.rest(290)
	if f.phase("r2") != rollout.Active {
		t.Fatal(f.text())
	}
	f.gate(t, true, approve("bob"))
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestDeadlineOfAbsentHub: time in which no hub leads does not count.
func TestDeadlineOfAbsentHub(t *testing.T) {
	g := board(1)
	g.Timeout = 300
	f := gated(t, g)
	f.now += 5000
	for _, h := range f.hosts {
		h.contact = f.now
	}
	f.restart()
	f.rest(290)
	r := f.s.Rollouts["r2"]
	if end := r.Deadline(g, f.up); r.Phase != rollout.Active || end != f.up+300 || end <= f.now {
		t.Fatalf("%d at %d\n%s", end, f.now, f.text())
	}
	f.rest(20)
	if r.Phase != rollout.OnHold || r.Deadline(g, f.up) != 0 {
		t.Fatal(f.text())
	}
}

// TestDefaultDeadline: without a time limit, a gate has the timeout of the wave after the bake time.
func TestDefaultDeadline(t *testing.T) {
	f := gated(t, board(1))
	f.strategy.WaveTimeout = 600
	r := f.s.Rollouts["r2"]
	r.Plan.Strategy.WaveTimeout, r.Plan.Waves[0].Bake = 1000, 500
	if end := r.Deadline(board(1), 0); end != r.Settled+1500 {
		t.Errorf("%d after %d", end, r.Settled)
	}
	f.gate(t, true, approve("ann"))
	if end := r.Deadline(board(1), 0); end != 0 {
		t.Errorf("after the approval: %d", end)
	}
}

// TestLapsed: after an approval expired, the users have the whole time again.
func TestLapsed(t *testing.T) {
	g := board(1)
	g.Timeout, g.Expires = 300, 1000
	f := gated(t, g)
	f.s.Rollouts["r2"].Plan.Waves[0].Bake = 5000
	f.gate(t, true, approve("ann"))
	f.rest(1200)
	if f.phase("r2") != rollout.Active {
		t.Fatal(f.text())
	}
	f.rest(200)
	if f.phase("r2") != rollout.OnHold {
		t.Fatal(f.text())
	}
}

// TestLateWebhook: a program that did not report its verdict in time is asked again after the resumption.
func TestLateWebhook(t *testing.T) {
	f := gated(t, rollout.Gate{Name: "tests", Type: rollout.WebhookGate, URL: "http://ci", Count: 1, Interval: 30,
		Timeout: 300})
	f.measure(t, rollout.Later)
	f.rest(310)
	if f.phase("r2") != rollout.OnHold || len(f.s.Due(f.now)) > 0 {
		t.Fatal(f.text())
	}
	f.command(t, rollout.ToResume, "")
	f.measure(t, rollout.Pass)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestReasonHasDeadline: the reason of a target that waits for a gate contains the time limit.
func TestReasonHasDeadline(t *testing.T) {
	g := board(1)
	g.Timeout = 86400
	f := gated(t, g)
	r := f.s.Rollouts["r2"]
	why := f.s.Reason(f.world(), r.Plan.Waves[2].Members[0], rollout.Change{Part: "web", Digest: "w2"})
	if !strings.Contains(why, "users (board); otherwise the rollout pauses at 1970-01-02 ") {
		t.Error(why)
	}
}
