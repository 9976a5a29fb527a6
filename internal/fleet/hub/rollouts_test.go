package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/sample"
)

// follower is an agent that applies nothing, and reports that it applied each assignment. The modules
// whose bundle is not *healthy fail; "" means that all bundles are healthy.
type follower struct {
	*sharer
	healthy *atomic.Value // string

	mu    sync.Mutex
	seq   uint64
	had   []string // bundles of the module web in its assignments, in order
	order fleet.AssignmentNumber
}

// follow enrols an agent and lets it report until the test ends.
func (w *world) follow(name string, healthy *atomic.Value) *follower {
	f := &follower{sharer: w.sharer(name, nil), healthy: healthy}
	ctx := w.t.Context()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-f.pushed:
			case <-time.After(50 * time.Millisecond):
			}
			f.report(ctx)
		}
	}()
	return f
}

// report fetches the newest assignment and reports on it, once for each assignment.
func (f *follower) report(ctx context.Context) {
	have, _ := json.Marshal(fleet.Have{})
	envelope, err := f.link.Ask(ctx, fleet.MessageAssignment, have)
	if err != nil || len(envelope) == 0 {
		return
	}
	a, err := fleet.OpenAssignment(envelope, f.id.Keys(nil, time.Now(), time.Time{}))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || a.Number() == f.order {
		return
	}
	r := fleet.Report{Format: fleet.ReportFormat, Target: f.id.ID, Seq: f.seq + 1, At: time.Now().UnixNano(),
		Event:  fleet.Event{Kind: fleet.Applied, Run: 1},
		Status: fleet.Status{Epoch: a.Epoch, Generation: a.Generation, Run: 1}}
	bundle := ""
	for _, m := range a.Modules {
		s := fleet.ModuleStatus{Module: m.Module, Commit: m.Revision.Commit, Bundle: m.Bundle.Digest,
			State: fleet.ModuleReady, Since: 1}
		if only := f.healthy.Load(); only != "" && only != m.Bundle.Digest {
			s.State, s.Error = fleet.ModuleFailed, "the service died"
		}
		r.Status.Modules, bundle = append(r.Status.Modules, s), m.Bundle.Digest
	}
	text, _ := json.Marshal(r)
	if _, err := f.link.Ask(ctx, fleet.MessageReport, text); err == nil {
		f.seq, f.order, f.had = f.seq+1, a.Number(), append(f.had, bundle)
	}
}

// has returns the bundle of the module web in the newest reported assignment.
func (f *follower) has() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.had) == 0 {
		return ""
	}
	return f.had[len(f.had)-1]
}

// bundles returns the different bundles that it had.
func (f *follower) bundles() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]bool{}
	for _, b := range f.had {
		out[b] = true
	}
	return out
}

// site returns a repository whose module web has a text.
func site(text, bake string) map[string]string {
	return map[string]string{
		"fettle.hcl": fmt.Sprintf(`policy { rollout = "careful-test" }
rollout "careful-test" {
  wave "first" {
    size = 1
    bake = %q
  }
  wave "rest" { max_unavailable = "50%%" }
  min_ready_time = "0s"
}
target_group "web" {
  targets = ["*"]
  modules = ["web"]
}
`, bake),
		"modules/web/web.hcl": fmt.Sprintf("file \"/srv/web\" {\n  content = %q\n}\n", text),
	}
}

// rollout waits until a rollout is in a phase, and returns it.
func (w *world) rollout(id, phase string) document.RolloutDetail {
	w.t.Helper()
	return until(w.t, "the rollout "+id+" is "+phase, func() (document.RolloutDetail, bool) {
		var d document.RolloutDetail
		var page document.RolloutPage
		w.ask("GET", "/v1/rollouts", nil, &page)
		for _, r := range page.Rollouts {
			if r.ID == id {
				w.ask("GET", "/v1/rollouts/"+id, nil, &d)
			}
		}
		return d, d.Rollout.Phase == phase
	})
}

// alarmed waits until the only alarm has a kind and a text; "" means that there is none.
func (w *world) alarmed(kind, text string) {
	w.t.Helper()
	until(w.t, "the alarm "+kind, func() ([]document.Alarm, bool) {
		var page document.AlarmPage
		w.ask("GET", "/v1/alarms", nil, &page)
		if kind == "" {
			return page.Alarms, len(page.Alarms) == 0
		}
		return page.Alarms, len(page.Alarms) == 1 && string(page.Alarms[0].Kind) == kind &&
			strings.Contains(page.Alarms[0].Text, text)
	})
}

// A bad commit stops at the first target, which returns to its previous content; the commit is held. The next
// commit reaches all targets in waves, also if it is paused, and the hub is restarted in between.
func TestRollouts(t *testing.T) {
	sample.Group(t, 3, 11)
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	var all []*follower
	for i := range 4 {
		all = append(all, w.follow(fmt.Sprintf("web%d", i+1), healthy))
	}
	until(t, "the first content", func() ([]string, bool) {
		var got []string
		for _, f := range all {
			got = append(got, f.has())
		}
		return got, got[0] != "" && got[0] == got[1] && got[0] == got[2] && got[0] == got[3]
	})
	good := all[0].has()
	w.rollout("r1", "completed")

	healthy.Store(good)
	w.commit(site("two", "0s"))
	d := w.rollout("r2", "rolled-back")
	touched := 0
	for _, f := range all {
		if f.has() != good {
			t.Errorf("%s has %s after the rollback", f.id.Name, f.has())
		}
		if len(f.bundles()) > 1 {
			touched++
		}
	}
	if touched != 1 || d.Rollout.Targets["returned"] != 1 || !d.Rollout.Held {
		t.Errorf("%d targets had the bad commit; the rollout: %+v", touched, d.Rollout)
	}

	w.alarmed("rollout_held", "so its content is held: HEAD ")
	w.heldEverywhere("r2", "web1", false)
	healthy.Store("")
	w.ask("POST", "/v1/rollouts/r2/order", document.RolloutRequest{Action: "release"}, &document.Done{})
	w.rollout("r3", "completed")
	good = all[0].has()
	w.commit(site("three", "1h"))
	w.rollout("r4", "active")
	order := func(action string) (done document.Done) {
		w.ask("POST", "/v1/rollouts/r4/order", document.RolloutRequest{Action: action, Reason: "a test"}, &done)
		return done
	}
	order("pause")
	w.stop()
	w.start()
	d = w.rollout("r4", "paused")
	if d.Rollout.By != "root" || d.Rollout.Why != "a test" || d.Rollout.Targets["pending"] == 0 {
		t.Errorf("after the restart: %+v", d.Rollout)
	}
	w.inAudit("POST /v1/rollouts/{rollout}/order", "a test")
	order("resume")
	until(t, "the bake time", func() (document.RolloutWave, bool) {
		first := w.rollout("r4", "active").Rollout.Waves[0]
		return first, first.Ready == 1
	})
	order("promote")
	w.rollout("r4", "completed")
	w.alarmed("", "")
	for _, f := range all {
		if f.has() == good {
			t.Errorf("%s has no new content", f.id.Name)
		}
	}
	for _, want := range []string{"rollout r2 rolls back: 1 of 4 failed", "rollout r4 paused: a test",
		"rollout r4 ended: completed"} {
		until(t, "the event "+want, func() (string, bool) {
			var events document.EventPage
			w.ask("GET", "/v1/events?limit=500", nil, &events)
			text, _ := json.Marshal(events)
			return string(text), strings.Contains(string(text), want)
		})
	}
	if d := w.follow("web5", healthy); d != nil {
		until(t, "the stable content of a new target", func() (string, bool) { return d.has(), d.has() == all[0].has() })
	}
}
