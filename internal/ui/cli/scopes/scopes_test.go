package scopes

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/test/fakehub"
)

func shown[P any](show func(*cli.Printer, P), page P) string {
	var out bytes.Buffer
	show(&cli.Printer{App: &cli.App{Stdout: &out, Now: apitest.Now}}, page)
	return out.String()
}

func compare(t *testing.T, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n") + "\n"; got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
}

// TestScopeList: an operator sees the verdicts, and the worst reason of each.
func TestScopeList(t *testing.T) {
	all, err := apitest.Scopes{}.Scopes(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	list := func(s *cli.Printer, p document.ScopePage) { showScopes(s, route.ScopeQuery{Sort: "verdict"}, false, p) }
	compare(t, shown(list, document.ScopePage{Scopes: all, Total: 9, Cursor: "4 rack/r1"}),
		"SCOPE           VERDICT  SINCE                MEMBERS  REASON",
		"cluster/search  failed   2026-11-21 03:21:57  2 of 3   the check formed succeeds on 1 of 2 targets, "+
			"2 are required, 1 failed: es2; 1 more",
		"rack/r1         ready    2026-11-21 04:21:57  1 scope",
		"9 scopes in all. Show the next ones: fettle scope list --sort verdict --after '4 rack/r1'")
	compare(t, shown(list, document.ScopePage{}), "The repository declares no scopes. See docs/scopes.md")
	compare(t, shown(list, document.ScopePage{Kinds: []string{"rack"}}),
		"No scope is selected. List all scopes: fettle scope list")
	tree := func(s *cli.Printer, p document.ScopePage) { showScopes(s, route.ScopeQuery{}, true, p) }
	compare(t, shown(tree, document.ScopePage{Scopes: []document.Scope{
		{ID: "cluster/a", Verdict: "ready"}, {ID: "room/north", Verdict: "failed", Scopes: []string{"cluster/a"}}}}),
		"room/north failed", "  cluster/a ready")
}

// TestScopeShow: an operator sees why a scope has its verdict.
func TestScopeShow(t *testing.T) {
	d := apitest.Scopes{}.Scope(context.Background())
	compare(t, shown(showScope, d),
		"cluster/search: failed since 2026-11-21 03:21:57; full-text search",
		`Declared in fettle.hcl:12: element "search" of for_each {"nodes":3}`,
		"- failed: the check formed succeeds on 1 of 2 targets, 2 are required, 1 failed: es2",
		"- pending: the task templates waits",
		"",
		"MEMBER  STATE",
		"es1     connected",
		"es2     connected",
		"es3     not enrolled, does not count",
		"",
		"Check formed: failed; succeeds on 1 of 2 targets, 2 required; quorum all",
		"TARGET  RESULT                        SINCE                REASON",
		"es1     ok                            2026-11-21 04:21:57",
		"es2     failed                        2026-11-21 04:21:57  status 503",
		"es3     not enrolled, does not count",
		"",
		"SCOPE           TASK       STATE    SINCE                TARGET  FENCE  REASON",
		"cluster/search  templates  waiting  2026-11-21 04:21:57                 waits: check.formed")
}

// TestCheckOfHub: an operator sees the result of a check that the leading hub tests.
func TestCheckOfHub(t *testing.T) {
	show := func(testers ...document.ScopeTester) string {
		return shown(showCheck, document.ScopeCheck{Name: "dns", Verdict: "failed", Quorum: "all", Testers: testers})
	}
	since := apitest.Now().UnixNano()
	compare(t, show(document.ScopeTester{Name: "hub1", Hub: true, Outcome: "failed", Since: since, Text: "refused"}),
		"", "Check dns: failed; the leading hub tests it",
		"HUB   RESULT  SINCE                REASON",
		"hub1  failed  2026-11-21 04:21:57  refused")
	compare(t, show(document.ScopeTester{Hub: true, Text: "the leading hub has not tested it yet"}),
		"", "Check dns: failed; the leading hub tests it",
		"HUB  RESULT   SINCE  REASON",
		"     unknown         the leading hub has not tested it yet")
}

func TestScopeHistory(t *testing.T) {
	all := apitest.Scopes{}.ScopeHistory()
	compare(t, shown(showHistory, document.ScopeHistory{Verdicts: all}),
		"SINCE                VERDICT  REASON",
		"2026-11-21 03:21:57  failed   the check formed succeeds on 1 of 2 targets, 2 are required, 1 failed: es2; 1 more",
		"2026-11-20 04:21:57  ready")
	compare(t, shown(showHistory, document.ScopeHistory{Scope: "cluster/x"}),
		"The leading hub has not stored a verdict of cluster/x yet.")
}

// TestSimilarScope: a user who gives only the name, or a similar one, sees the ID of the scope.
func TestSimilarScope(t *testing.T) {
	hub := fakehub.Serve(t, fakehub.Hostile{Rights: []string{"read"}, Text: "cluster/all"})
	for _, text := range []string{"all", "al"} {
		if got := nearest(context.Background(), hub, text); got != "cluster/all" {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// TestTaskList: an operator sees which tasks need a decision, and how to decide.
func TestTaskList(t *testing.T) {
	all, err := apitest.Scopes{}.Tasks(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, shown(showTasks, document.TaskPage{Tasks: all[1:]}),
		"SCOPE           TASK   STATE    SINCE                TARGET  FENCE          REASON",
		"cluster/search  users  unknown  2026-11-21 04:21:57  es1     1764216000000  the agent stopped during the attempt",
		"users of cluster/search: find out whether it is done, then run: fettle task resolve cluster/search users "+
			"--done --reason WHY, or with --failed")
	compare(t, shown(showTasks, document.TaskPage{}),
		"The repository declares no tasks of scopes. See docs/scopes.md")
}

func TestScopeID(t *testing.T) {
	for _, bad := range []string{"", "search", "/search", "cluster/", "a/b/c"} {
		if _, ok := parseID(bad); ok {
			t.Errorf("%q is accepted", bad)
		}
	}
}
