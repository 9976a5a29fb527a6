package hub_test

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/sample"
)

// selecting returns a repository without rollout blocks whose commit selects at-once.
func selecting(text string) map[string]string {
	files := site(text, "0s")
	files["fettle.hcl"] = "# " + text + `
policy { rollout = "at-once" }
target_group "web" {
  targets = ["*"]
  modules = ["web"]
}
`
	return files
}

// TestCommitThatSelectsAtOnce: a bad commit that selects at-once stops at the first target, with the strategy that it
// removes. A good one is rolled out in waves, and the commits after it reach all targets at once.
func TestCommitThatSelectsAtOnce(t *testing.T) {
	sample.Group(t, 2, 10)
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
	same := func(than string) {
		t.Helper()
		until(t, "the content of all", func() (map[string]bool, bool) {
			got := map[string]bool{}
			for _, f := range all {
				got[f.has()] = true
			}
			return got, len(got) == 1 && !got[""] && !got[than]
		})
	}
	same("")
	w.rollout("r1", "completed")
	healthy.Store(all[0].has())
	w.commit(selecting("bad"))
	if d := w.rollout("r2", "rolled-back"); d.Rollout.Strategy != "careful-test" || d.Rollout.Targets["returned"] != 1 {
		t.Errorf("a bad commit: %+v", d.Rollout)
	}
	healthy.Store("")
	p := w.preview(selecting("good"), "web1", "web2", "web3", "web4")
	want := []document.PlannedStrategyChange{{From: "careful-test", To: "at-once",
		Targets: []string{"web1", "web2", "web3", "web4"}}}
	if len(p.Rollouts) != 1 || p.Rollouts[0].Strategy != "careful-test" || !reflect.DeepEqual(p.StrategyChanges, want) {
		t.Errorf("the plan of a good commit: %+v", p)
	}
	w.commit(selecting("good"))
	if d := w.rollout("r3", "completed"); d.Rollout.Strategy != "careful-test" || len(d.Rollout.Waves) != 2 {
		t.Errorf("a good commit: %+v", d.Rollout)
	}
	had := all[0].has()
	w.commit(selecting("next"))
	same(had)
	var page document.RolloutPage
	if w.ask("GET", "/v1/rollouts", nil, &page); len(page.Rollouts) != 3 {
		t.Errorf("the next commit has a rollout: %+v", page.Rollouts)
	}
}
