package hub_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/repo"
)

// preview asks the hub for the plan of files that are not committed yet.
func (w *world) preview(files map[string]string, targets ...string) (p document.RolloutPlan) {
	w.t.Helper()
	labels := map[string]map[string]string{}
	for _, name := range targets {
		labels[name] = nil
	}
	all := maps.Clone(files)
	maps.Copy(all, fleet.EnrolledFiles(fleet.EnrolledWith(labels)))
	found, ds := compiler{}.Targets(repo.MapTree(all))
	strategies, more := compiler{}.Strategies(repo.MapTree(all))
	if ds.HasErrors() || more.HasErrors() {
		w.t.Fatal(ds, more)
	}
	compiled, err := assign.Compile(repo.MapTree(files), found, strategies)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(compiled)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ask("POST", "/v1/rollouts/plan", document.RolloutPlanRequest{Compiled: text}, &p)
	return p
}

// The plan of a commit agrees with the rollout after the push: the same parts, waves and targets. A target without
// contact is in a later wave of both. The plan itself changes nothing.
func TestRolloutPlan(t *testing.T) {
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	var names []string
	var all []*follower
	for i := range 21 { // one of them without contact is not enough for the hub to wait for the others
		names = append(names, fmt.Sprintf("web%d", i+1))
		all = append(all, w.follow(names[i], healthy))
	}
	until(t, "the first content", func() ([]string, bool) {
		var got []string
		for _, f := range all {
			got = append(got, f.has())
		}
		return got, got[0] != "" && len(slices.Compact(slices.Clone(got))) == 1
	})
	w.rollout("r1", "completed")
	if p := w.preview(site("one", "0s"), names...); len(p.Rollouts)+len(p.AtOnce)+len(p.Waiting) > 0 {
		t.Errorf("the plan of the present files: %+v", p)
	}
	all[0].link.Close()
	until(t, "web1 has no contact", func() (document.TargetDetail, bool) {
		var d document.TargetDetail
		w.ask("GET", "/v1/targets/web1", nil, &d)
		return d, !d.Target.Connected
	})

	p := w.preview(site("two", "0s"), names...)
	if len(p.Rollouts) != 1 || len(p.AtOnce) > 0 || len(p.Waiting) != 1 || p.Waiting[0].Reason != "no contact" {
		t.Fatalf("the plan: %+v", p)
	}
	planned := p.Rollouts[0]
	w.commit(site("two", "0s"))
	d := until(t, "the rollout", func() (d document.RolloutDetail, ok bool) {
		var page document.RolloutPage
		w.ask("GET", "/v1/rollouts", nil, &page)
		if ok = page.Rollouts[0].ID == "r2"; ok {
			w.ask("GET", "/v1/rollouts/r2", nil, &d)
		}
		return d, ok
	})
	got := map[string][]string{}
	for _, m := range d.Targets {
		got[m.Wave] = append(got[m.Wave], m.Name)
	}
	for i, wave := range planned.Waves {
		if real := d.Rollout.Waves[i]; !slices.Equal(got[wave.Name], wave.Targets) || real.Name != wave.Name ||
			real.MaxUnavailable != wave.MaxUnavailable || slices.Contains(planned.Waves[0].Targets, "web1") {
			t.Errorf("the wave %s is %v (%+v), and the plan was %+v", real.Name, got[wave.Name], real, wave)
		}
	}
	if !reflect.DeepEqual(d.Rollout.Parts, planned.Parts) || d.Rollout.WorstCase != planned.WorstCase ||
		len(d.Rollout.Waves) != len(planned.Waves) || d.Rollout.Strategy != planned.Strategy {
		t.Errorf("the rollout is %+v, and the plan was %+v", d.Rollout, planned)
	}

	next := w.preview(site("three", "0s"), names...)
	if len(next.Rollouts) != 1 || len(next.Rollouts[0].Supersedes) != 1 || next.Rollouts[0].Supersedes[0].Rollout != "r2" {
		t.Errorf("the plan of another commit: %+v", next)
	}
}
