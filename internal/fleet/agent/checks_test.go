package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

func (n *node) readScopes(repo.Tree) (query.Scopes, diag.List) {
	n.reads.Add(1)
	return n.scopes, nil
}

// test tests whether a unit is active.
func (n *node) test(_ context.Context, p query.Probe, _ time.Duration) error {
	if why, failed := n.probes.Load(p.Unit); failed {
		return errors.New(why.(string))
	}
	return nil
}

// search is a cluster of the host with one check and one task.
func search(digest string) query.Scopes {
	return query.Scopes{Scopes: []query.Scope{{Kind: "cluster", Name: "search", Targets: []string{"web1", "web2"},
		Checks: []query.ScopeCheck{{Name: "formed", Probe: query.Probe{Unit: "search"}, Every: 1, Timeout: 1,
			Digest: digest}},
		Tasks: []query.ScopeTask{
			{Name: "import", Command: []string{"import", "x y"}, Input: "text", Timeout: 60, Digest: "t1",
				Verify: &query.Probe{Unit: "imported"}},
			{Name: "plain", Command: []string{"plain"}, Timeout: 60, Digest: "p1"},
		}},
		{Kind: "cluster", Name: "other", Targets: []string{"web2"},
			Checks: []query.ScopeCheck{{Name: "x", Every: 1, Timeout: 1, Digest: "x"}},
			Tasks:  []query.ScopeTask{{Name: "import", Command: []string{"import"}, Timeout: 60, Digest: "t1"}}}}}
}

// TestAgentTestsChecks: the agent reports the results of the checks that it tests, and reads them only if the
// composition has changed. A restart without a change causes no report about them.
func TestAgentTestsChecks(t *testing.T) {
	n := newNode(t)
	n.scopes = search("d1")
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	r := n.hub.heard(t, "a result", kind(fleet.Checked))
	want := fleet.CheckResult{Scope: "cluster/search", Check: "formed", Digest: "d1", Outcome: fleet.CheckOK}
	is := func(r fleet.Report, what string) {
		t.Helper()
		got := r.Status.Checks
		if len(got) != 1 || got[0].Since == 0 {
			t.Fatalf("%s: %+v", what, got)
		}
		if got[0].Since = 0; got[0] != want {
			t.Fatalf("%s: %+v", what, got[0])
		}
	}
	is(r, "at first")
	n.stop()
	n.probes.Store("search", "it is inactive")
	reads := n.reads.Load()
	n.start()
	is(n.hub.heard(t, "the start", kind(fleet.Started)), "after the restart")
	r = n.hub.heard(t, "a failure", kind(fleet.Checked))
	want.Outcome, want.Text = fleet.CheckFailed, "it is inactive"
	is(r, "a failure")
	if r.Event.Text != "cluster/search formed: failed" || n.reads.Load() != reads {
		t.Errorf("%q, and the scopes were read %d times after the restart", r.Event.Text, n.reads.Load()-reads)
	}
	n.hub.connect(false)
	n.scopes = query.Scopes{}
	n.hub.assign(2, top, n.hub.part("modules/base", motd("two\n")), n.hub.part("modules/web", issue("web\n")))
	n.hub.connect(true)
	r = n.hub.heard(t, "no checks", kind(fleet.Checked))
	if r.Status.Checks != nil || r.Event.Text != "cluster/search formed: no longer tested" {
		t.Errorf("%+v", r)
	}
}
