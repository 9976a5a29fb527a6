package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

func scopedSite(t testing.TB, change func(*document.ScopeDetail), rights ...string) (*web.Site, fakehub.Scopes) {
	h := fakehub.Scopes{Hostile: fakehub.Hostile{Rights: rights, Text: "x"}, Queries: new([]string),
		Changes: new([]string), Change: change}
	return siteOf(t, h), h
}

// TestScopesPage: the list has the worst scopes first, with their reasons. The hub filters and sorts it.
func TestScopesPage(t *testing.T) {
	s, h := scopedSite(t, nil, "read")
	inOrder(t, read(s, "/scopes").Body.String(), "2 scopes", "/scopes?verdict=failed", "failed", "<b>1</b>",
		"rack</option>",
		`href="/scopes/cluster/search"`, "failed", "2 of 3", "1 failed", `href="/targets/es2"`, "1 more",
		`href="/scopes/rack/r1"`, "1 scope", `href="/scopes?after=4`, "fettle scope list --sort verdict",
		"$HUB/v1/scopes?limit=50&amp;sort=verdict")
	inOrder(t, read(s, "/scopes?kind=rack&verdict=ready&sort=since&after=-5+a/b").Body.String(), "all verdicts",
		"<option selected>rack", "<option selected>ready", "<option selected>since", "First page",
		"fettle scope list --kind rack --verdict ready --sort since --after &#39;-5 a/b&#39;")
	if want := "after=-5+a%2Fb&kind=rack&limit=50&sort=since&verdict=ready"; (*h.Queries)[1] != want {
		t.Errorf("the hub got %q, want %q", (*h.Queries)[1], want)
	}
}

// TestScopeTreePage: a scope is below the scope that contains it.
func TestScopeTreePage(t *testing.T) {
	s, _ := scopedSite(t, nil, "read")
	inOrder(t, read(s, "/scopes/tree").Body.String(), `class="tree"`, `href="/scopes/rack/r1"`, `class="tree"`, "failed",
		`href="/scopes/cluster/search"`, "1 failed: es2; 1 more", "</ul>", "</ul>", "fettle scope list", `$HUB/v1/scopes"`)
}

// TestScopePage: a scope has its reasons as a tree, then its tasks, checks, members and history. A reader gets no form.
func TestScopePage(t *testing.T) {
	s, _ := scopedSite(t, nil, "operate", "read")
	page := read(s, "/scopes/cluster/search").Body.String()
	inOrder(t, page, "cluster/search", "failed", "full-text search", "fettle.hcl:12",
		"element <code>search</code> of for_each", "<code>{&#34;nodes&#34;:3}</code>",
		"Reasons", `href="#members">members`, "2 of 3 members are connected, 2 of 3 count, the minimum is 2",
		`href="#check-formed">check formed`, `href="/targets/es2"`, `href="#task-templates">task templates`,
		`href="#task-users">task users`,
		`id="task-templates"`, "waiting", "waits: check.formed", "No attempt has begun",
		`id="task-users"`, "unknown", "set its result", ">1764216000000</a>", `href="/targets/es1"`, "unknown",
		"/scopes/cluster/search/tasks/users/resolve", "/scopes/cluster/search/tasks/users/retry",
		`id="check-formed"`, "Succeeds on 1 of 2 targets, 2 required; quorum all.", "es2", "failed",
		"status 503", "es1", "ok", "es3", "not enrolled, does not count",
		`id="members"`, "es3", "es1", "History", "failed", "ready", "fettle scope show cluster/search",
		"$HUB/v1/scopes/cluster/search")
	if strings.Contains(page, "tasks/templates/re") {
		t.Error("a task that waits has a form")
	}
	s, _ = scopedSite(t, nil, "read")
	if page := read(s, "/scopes/cluster/search").Body.String(); strings.Contains(page, `class="orders"`) {
		t.Error("a reader sees the forms")
	}
	s, h := scopedSite(t, func(d *document.ScopeDetail) {
		*d = document.ScopeDetail{Scope: document.Scope{ID: "rack/r1", Verdict: "ready", Scopes: []string{"cluster/search"}}}
	}, "read")
	inOrder(t, read(s, "/scopes/rack/r1").Body.String(), "rack/r1", "Reasons",
		`href="/scopes/cluster/search"`, "1 failed: es2", "History")
	s, _ = scopedSite(t, func(d *document.ScopeDetail) {
		d.Checks[0].Testers = []document.ScopeTester{{Name: "hub1", Hub: true, Outcome: "failed", Text: "refused"}}
	}, "read")
	if page := read(s, "/scopes/cluster/search").Body.String(); strings.Contains(page, "/targets/hub1") {
		t.Error("the page has a link to a target for a hub")
	} else {
		inOrder(t, page, `id="check-formed"`, "The leading hub tests it.", ">Hub</th>", "hub1", "failed", "refused")
	}
	if got := *h.Queries; len(got) != 1 || got[0] != "within=rack%2Fr1" {
		t.Errorf("the hub got %q", got)
	}
}

// TestForgottenScope: of a scope that the repository no longer declares, the page has the history.
func TestForgottenScope(t *testing.T) {
	h := fakehub.Scopes{Hostile: fakehub.Hostile{Rights: []string{"operate", "read"}, Text: "x"}, Gone: true}
	inOrder(t, read(siteOf(t, h), "/scopes/cluster/search").Body.String(), "no longer declares this scope",
		"History", "1 failed", "fettle scope history cluster/search", "$HUB/v1/scopes/cluster/search/history")
	if w := read(siteOf(t, fakehub.Large{N: 3}), "/scopes/cluster"); w.Code != http.StatusNotFound {
		t.Errorf("a page of no scope: %d", w.Code)
	}
}

// TestManyParts: of many members, targets and verdicts, the page has those that need attention.
func TestManyParts(t *testing.T) {
	s, _ := scopedSite(t, func(d *document.ScopeDetail) {
		d.Members, d.Checks[0].Testers = nil, nil
		for i := range 1000 {
			m := document.ScopeMember{Name: fmt.Sprintf("es%03d", i), State: document.ScopeConnected}
			tester := document.ScopeTester{Name: m.Name, Outcome: fleet.CheckOK}
			if i == 999 {
				m.State, tester.Outcome = document.ScopeOffline, fleet.CheckFailed
			}
			d.Members, d.Checks[0].Testers = append(d.Members, m), append(d.Checks[0].Testers, tester)
		}
	}, "read")
	page := read(s, "/scopes/cluster/search").Body.String()
	inOrder(t, page, `id="check-formed"`, "es999", "es000", "950 more targets", `id="members"`, "es999", "offline",
		"es000", "800 more members")
	if n := len(elements(t, page)); n > 2500 {
		t.Errorf("the page has %d elements", n)
	}
}

// TestDecisionsAboutTasks: an operator retries a task, and sets its result. If the task has changed since the operator
// saw it, nothing happens.
func TestDecisionsAboutTasks(t *testing.T) {
	s, h := scopedSite(t, nil, "operate", "read")
	_, rest, _ := strings.Cut(read(s, "/scopes/cluster/search").Body.String(), `name="seen" value="`)
	seen, _, _ := strings.Cut(rest, `"`)
	const at = "/scopes/cluster/search/tasks/users/"
	for path, form := range map[string]url.Values{at + "retry": {"seen": {"unknown 5 6 aa"}, "reason": {"fixed"}},
		at + "resolve": {"reason": {"fixed"}, "result": {"done"}}} {
		if status, page := submit(s, path, form); status != http.StatusConflict || !strings.Contains(page, "has changed") {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	if len(*h.Changes) > 0 {
		t.Fatalf("a decision was sent: %q", *h.Changes)
	}
	for _, form := range []url.Values{{"result": {"done"}}, {"result": {"failed"}}, {}} {
		path := at + "resolve"
		if len(form) == 0 {
			path = at + "retry"
		}
		form.Set("seen", seen)
		form.Set("reason", "it exists")
		if status, page := submit(s, path, form); status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, status, page)
		}
	}
	want := []string{`/v1` + at + `resolve {"result":"done","reason":"it exists"}`,
		`/v1` + at + `resolve {"result":"failed","reason":"it exists"}`, `/v1` + at + `retry {"reason":"it exists"}`}
	if strings.Join(*h.Changes, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", *h.Changes, want)
	}
}

// TestFormsOfTasks: a task has forms only if the hub would accept them.
func TestFormsOfTasks(t *testing.T) {
	for name, c := range map[string]struct {
		task           document.ScopeTask
		retry, resolve bool
	}{
		"done":    {document.ScopeTask{Phase: document.TaskDone}, true, false},
		"failed":  {document.ScopeTask{Phase: document.TaskFailed}, true, true},
		"unknown": {document.ScopeTask{Phase: document.TaskUnknown}, true, true},
		"waiting": {document.ScopeTask{Phase: document.TaskWaiting}, false, false},
		"pause":   {document.ScopeTask{Phase: document.TaskWaiting, Next: 1}, true, false},
		"tested": {document.ScopeTask{Phase: document.TaskUnknown, Open: &document.TaskAttempt{VerifyOnly: true}}, false,
			false},
		"running": {document.ScopeTask{Phase: document.TaskRunning, Open: &document.TaskAttempt{}}, false, false},
		"removed": {document.ScopeTask{Phase: document.TaskFailed, Undeclared: true}, false, false},
	} {
		c.task.Scope, c.task.Task = "cluster/search", "users"
		s, _ := scopedSite(t, func(d *document.ScopeDetail) { d.Tasks = []document.ScopeTask{c.task} }, "operate", "read")
		page := read(s, "/scopes/cluster/search").Body.String()
		if strings.Contains(page, "users/retry") != c.retry || strings.Contains(page, "users/resolve") != c.resolve {
			t.Errorf("%s: %s", name, page)
		}
	}
}

// TestTasksPage: tasks that need a decision come first, and are in the inbox.
func TestTasksPage(t *testing.T) {
	s, _ := scopedSite(t, nil, "read")
	inOrder(t, read(s, "/tasks").Body.String(), `href="/scopes/cluster/search#task-users"`, "unknown", "es1",
		"Needs a decision.", "the agent stopped", `href="/scopes/cluster/search#task-templates"`, "waiting",
		"fettle task list", "$HUB/v1/tasks")
	inOrder(t, read(s, "/inbox").Body.String(), "Tasks with an unknown result", `href="/scopes/cluster/search#task-users"`,
		"the agent stopped")
	if strings.Contains(read(s, "/inbox").Body.String(), "templates") {
		t.Error("the inbox has a task that needs no decision")
	}
}

// TestNoScopes: without scopes, the pages say so.
func TestNoScopes(t *testing.T) {
	s := siteOf(t, fakehub.Large{N: 3})
	for path, want := range map[string]string{"/scopes": "declares no scopes", "/scopes/tree": "declares no scopes",
		"/tasks": "declares no tasks"} {
		if w := read(s, path); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// BenchmarkScopePages reads and renders a page of many scopes, their tree, and one with a thousand members.
func BenchmarkScopePages(b *testing.B) {
	s, _ := scopedSite(b, func(d *document.ScopeDetail) {
		check := document.ScopeCheck{Name: "formed"}
		for i := range 1000 {
			name := fmt.Sprintf("es%03d", i)
			d.Members = append(d.Members, document.ScopeMember{Name: name, State: document.ScopeConnected})
			check.Testers = append(check.Testers, document.ScopeTester{Name: name, Outcome: fleet.CheckOK})
		}
		d.Checks = nil
		for range 20 {
			d.Checks = append(d.Checks, check)
		}
	}, "read")
	for b.Loop() {
		b.ReportMetric(float64(read(s, "/scopes/cluster/search").Body.Len())/1000, "KB")
	}
}

// TestGroupsByScope: the groups of the fleet page by scope have numbers, and lead to the page of the scope.
func TestGroupsByScope(t *testing.T) {
	s := siteOf(t, fakehub.Hostile{Rights: []string{"read"}, Text: "cluster/web"})
	inOrder(t, read(s, "/?by=scope").Body.String(), "<option selected>scope</option>",
		`<a href="/scopes/cluster/web">cluster/web</a>`, "$HUB/v1/targets?by=scope")
}
