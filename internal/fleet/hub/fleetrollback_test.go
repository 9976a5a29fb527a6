package hub_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/sample"
)

// An operator returns the fleet to an earlier commit, after the bad commit is complete: a rollout returns all targets,
// and the content of the branch is held until an operator releases it or newer content arrives.
func TestFleetRollback(t *testing.T) {
	sample.Group(t, 0, 8)
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	var all []*follower
	for i := range 3 {
		all = append(all, w.follow(fmt.Sprintf("web%d", i+1), healthy))
	}
	have := func(what, not string) string {
		return until(t, what, func() (string, bool) {
			bundle := all[0].has()
			return bundle, bundle != "" && bundle != not && bundle == all[1].has() && bundle == all[2].has()
		})
	}
	one := have("the first content", "")
	w.rollout("r1", "completed")
	var page document.RepositoryPage
	w.ask("GET", "/v1/repositories", nil, &page)
	first := page.Repositories[0].Commit
	w.commit(site("two", "0s"))
	two := have("the second content", one)
	w.rollout("r2", "completed")

	order := func(path string, in any) (text string) {
		var done document.Done
		w.ask("POST", path, in, &done)
		return done.Text
	}
	if got := order("/v1/rollbacks", document.FleetRollbackRequest{Part: "web", To: "stable"}); !strings.Contains(got,
		"nothing to do") {
		t.Errorf("a rollback to the stable content that the branch has: %s", got)
	}
	back := document.FleetRollbackRequest{Part: "web", To: first, Reason: "requests time out"}
	if got := order("/v1/rollbacks", back); !strings.Contains(got, "Held: modules/web: HEAD ") {
		t.Errorf("the rollback: %s", got)
	}
	if got := have("the content before", two); got != one {
		t.Errorf("after the rollback: %s, want %s", got, one)
	}
	if d := w.rollout("r3", "completed"); !strings.HasPrefix(d.Rollout.Cause, "rollback to commit "+first[:12]) {
		t.Errorf("the cause of the rollout: %s", d.Rollout.Cause)
	}
	w.alarmed("rollout_held", "modules/web is held: HEAD ")
	if got := w.heldEverywhere("r2", "web1", true); !strings.Contains(got, ", stable "+first[:12]) {
		t.Errorf("the held content: %s", got)
	}
	w.inAudit("POST /v1/rollbacks", "requests time out")
	var e document.Explanation
	w.ask("GET", "/v1/targets/web1/modules/web", nil, &e)
	if text := strings.Join(e.Reasons, "\n"); !strings.Contains(text, "modules/web is held: the head of main has") ||
		!strings.Contains(text, "requests time out") {
		t.Errorf("the explanation: %s", text)
	}
	if got := order("/v1/rollbacks", back); !strings.Contains(got, "nothing to do") {
		t.Errorf("the same rollback again: %s", got)
	}
	late := w.follow("web4", healthy)
	until(t, "the content of a new target", func() (string, bool) { return late.has(), late.has() == one })

	files := site("two", "0s")
	files["README"] = "another part"
	w.commit(files)
	w.rollout("r4", "completed")
	if got := all[0].has(); got != one {
		t.Errorf("a commit with the same content ended the rollback: %s", got)
	}
	release := document.FleetReleaseRequest{Part: "web"}
	if got := order("/v1/rollbacks/release", release); !strings.Contains(got, "Released") {
		t.Errorf("the release: %s", got)
	}
	if got := have("the content of the branch", one); got != two {
		t.Errorf("after the release: %s, want %s", got, two)
	}
	w.alarmed("", "")
}

// Wrong rollbacks of the fleet are refused.
func TestRefusedFleetRollbacks(t *testing.T) {
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	f := w.follow("web1", healthy)
	until(t, "the first content", func() (string, bool) { return f.has(), f.has() != "" })
	for want, r := range map[string]document.FleetRollbackRequest{
		"Did you mean: modules/web": {Part: "wep", To: "stable"},
		"not the full hash":         {Part: "web", To: "v1.3"},
	} {
		if err := w.refused("/v1/rollbacks", r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := w.refused("/v1/rollbacks/release", document.FleetReleaseRequest{Part: "web"}); err == nil {
		t.Error("a release without a rollback is accepted")
	}
}

// refused sends a request, and returns its error.
func (w *world) refused(path string, in any) error {
	return socketClient(filepath.Join(w.dir, "hub.sock")).do(w.t.Context(), "POST", path, in, &document.Done{})
}

// A rollback to stable content also holds a commit that no target could get yet, because a window is closed.
func TestFleetRollbackOfAWaitingCommit(t *testing.T) {
	w := newWorld(t)
	w.commit(site("one", "0s"))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	f := w.follow("web1", healthy)
	until(t, "the first content", func() (string, bool) { return f.has(), f.has() != "" })
	w.rollout("r1", "completed")
	files := site("two", "0s")
	files["fettle.hcl"] = strings.Replace(files["fettle.hcl"], "policy {", "policy {\n  windows = [\"never\"]\n ", 1) + `
window "never" {
  schedule = "0 0 * * *"
  duration = "31d"
  changes  = "deny"
}
`
	files["fettle.hcl"] = strings.Replace(files["fettle.hcl"], `careful-test" }`, "careful-test\"\n}", 1)
	w.commit(files)
	var e document.Explanation
	until(t, "the window counts", func() (document.Explanation, bool) {
		w.ask("GET", "/v1/targets/web1/modules/web", nil, &e)
		return e, strings.Contains(strings.Join(e.Reasons, "\n"), `inside the window "never"`)
	})
	var done document.Done
	w.ask("POST", "/v1/rollbacks", document.FleetRollbackRequest{Part: "all", To: "stable"}, &done)
	for _, part := range []string{"modules/web", "top"} {
		if !strings.Contains(done.Text, part+": HEAD") {
			t.Errorf("%s is not held: %s", part, done.Text)
		}
	}
}
