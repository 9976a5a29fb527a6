package listgraph_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/graph"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/listgraph"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const web = `GROUP www
USER www group=www
PKG nginx
MKDIR /srv/www owner=www group=www
META /srv/www/a mode=0600
EDIT /etc/nginx/nginx.conf line="user www;"
LINK /srv/www/a /srv/www/b
UNIT nginx.service enabled=true
ACT reload nginx.service on="edit:/etc/nginx/nginx.conf#line:user www;"
WAIT web tcp=localhost:80
EXEC seed /srv/www/a cwd=/srv/www
CHECK web tcp=localhost:80
`

func parsed(t *testing.T, text string) step.List {
	t.Helper()
	l, ds := step.Parse("web.steps", []byte(text))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

func golden(t *testing.T, name string, g *graph.Graph) {
	t.Helper()
	file, got := filepath.Join("testdata", name), graph.Draw(g).SVG()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != string(got) {
		t.Errorf("%s differs (%v):\n%s", file, err, got)
	}
}

func TestList(t *testing.T) {
	states := []executor.StateRef{{ID: "package.nginx", Addrs: []addr.Addr{"pkg:nginx"}}}
	golden(t, "web.svg", listgraph.OfList("web1", parsed(t, web), states))
	golden(t, "empty.svg", listgraph.OfList("web1", nil, nil))
}

// edges returns the edges of a graph as text.
func edges(g *graph.Graph) string {
	var out []string
	for _, e := range g.Edges {
		arrow := [...]string{" -> ", " notifies ", " on failure "}[e.Style]
		out = append(out, g.Nodes[e.From].Label+arrow+g.Nodes[e.To].Label)
	}
	return strings.Join(out, "\n")
}

func TestRequirements(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"directory": {"MKDIR /a\nMKDIR /a/b\nLINK x /a/b/c/d", "file:/a -> file:/a/b\nfile:/a/b -> file:/a/b/c/d"},
		"removal":   {"RM /a/b\nRM /a", "file:/a/b -> file:/a"},
		"owner": {"GROUP g\nUSER u group=g\nMKDIR /a owner=u group=g",
			"group:g -> user:u\nuser:u -> file:/a"},
		"phase": {"MKDIR /a\nEXEC e true cwd=/a\nMKDIR /a mode=0700 phase=2",
			"file:/a -> exec:e\nfile:/a -> file:/a (phase 2)"},
		"wait":    {"MKDIR /a\nWAIT w tcp=h:1\nMKDIR /b", "file:/a -> wait:w\nwait:w -> file:/b"},
		"failure": {"MKDIR /a\nACT run clean rm on_failure=file:/a", "file:/a on failure act:run/clean"},
	} {
		if got := edges(listgraph.OfList("", parsed(t, c.list), nil)); got != c.want {
			t.Errorf("%s: edges:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

// TestDeclaredOrder: the order of the source is drawn between states, unless their steps show it.
func TestDeclaredOrder(t *testing.T) {
	l := parsed(t, "MKDIR /a\nMKDIR /a/b\nEXEC x true\nMKDIR /c\nMKDIR /d\nACT run clean rm on=file:/c")
	states := []executor.StateRef{{ID: "directory.a", Addrs: []addr.Addr{"file:/a"}},
		{ID: "directory.b", Addrs: []addr.Addr{"file:/a/b"}, After: []string{"directory.a"}},
		{ID: "exec.x", Addrs: []addr.Addr{"exec:x", "act:run/clean"}},
		{ID: "site.c", Addrs: []addr.Addr{"file:/c", "file:/d"}, After: []string{"exec.x", "gone", "directory.b"}}}
	want := "file:/a -> file:/a/b\nexec:x -> file:/c\nfile:/a/b -> file:/c\nfile:/c notifies act:run/clean"
	g := listgraph.OfList("", l, states)
	if got := edges(g); got != want {
		t.Errorf("edges:\n%s\nwant:\n%s", got, want)
	}
	if tip := g.Nodes[3].Tip; !strings.Contains(tip, "after exec:x: the source orders it") {
		t.Error(tip)
	}
}

// TestDeclaredOrderOfARun: a run has the same order, also for steps that it did not change.
func TestDeclaredOrderOfARun(t *testing.T) {
	s := shown(journal.Succeeded)
	s.States[1].After, s.States[2].After = nil, []string{"directory.a", "file.x"}
	if got := edges(listgraph.OfRun("", s)); !strings.Contains(got, "file:/a/z -> file:/z") {
		t.Errorf("edges:\n%s", got)
	}
}

// TestLongAppliedList: the picture of a long list has its first steps.
func TestLongAppliedList(t *testing.T) {
	l := parsed(t, "EXEC x true")
	for len(l) <= listgraph.MaxSteps {
		l = append(l, l[0])
	}
	g := listgraph.OfApplied("", l, nil)
	if len(g.Nodes) != listgraph.MaxSteps || !strings.Contains(strings.Join(g.Notes, ""), "only the first 2000 of 2001") {
		t.Errorf("%d nodes: %v", len(g.Nodes), g.Notes)
	}
}

func TestBands(t *testing.T) {
	g := listgraph.OfList("", parsed(t, "MKDIR /a\nMKDIR /b\nMKDIR /a mode=0700 phase=2\nMKDIR /c\nCHECK c tcp=h:1"), nil)
	var got []string
	for _, n := range g.Nodes {
		got = append(got, g.Bands[n.Band])
	}
	if text := strings.Join(got, ", "); text != "Phase 1, Phase 1, Phase 2, Phase 2, Checks" {
		t.Errorf("bands: %s", text)
	}
}

// shown is a run of four changes with two unchanged addresses.
func shown(outcome journal.Outcome) executor.Shown {
	part := func(a addr.Addr, do plan.Action, outcome, err string) executor.Invocation {
		return executor.Invocation{State: "state of " + string(a),
			Parts: []executor.Part{{Addr: a, Action: do, Outcome: outcome, Error: err}}}
	}
	s := executor.Shown{Info: journal.RunInfo{Outcome: outcome, Header: journal.Header{Run: 12}},
		Plan: &plan.Plan{Changes: []plan.Change{{Addr: "file:/a/x"}, {Addr: "file:/a/y"}, {Addr: "file:/a/z"},
			{Addr: "act:reload/u", Cause: []addr.Addr{"file:/a/x"}}}},
		Invocations: []executor.Invocation{part("file:/a/x", plan.Create, "done", ""),
			part("file:/a/y", plan.Update, "failed", "no <space>"), part("file:/a/z", plan.Blocked, "done", ""),
			part("act:reload/u", plan.Run, "skipped", "")},
		States: []executor.StateRef{{ID: "directory.a", Addrs: []addr.Addr{"file:/a"}},
			{ID: "file.x", Addrs: []addr.Addr{"file:/a/x", "file:/a/y", "file:/a/z"}},
			{ID: "file.last", Addrs: []addr.Addr{"file:/z"}}}}
	if outcome != "" {
		s.Info.Ended = 1
	}
	return s
}

func looks(g *graph.Graph) string {
	var out []string
	for _, n := range g.Nodes {
		out = append(out, n.Label+" "+n.State.Name)
	}
	return strings.Join(out, ", ")
}

func TestRun(t *testing.T) {
	g := listgraph.OfRun("web1", shown(journal.Failed))
	want := "file:/a unchanged, file:/a/x changed, file:/a/y failed, file:/a/z blocked, act:reload/u skipped, " +
		"file:/z unchanged"
	if got := looks(g); got != want {
		t.Errorf("looks: %s\nwant: %s", got, want)
	}
	golden(t, "run.svg", g)
	if got := looks(listgraph.OfRun("", shown(""))); !strings.Contains(got, "act:reload/u unknown") {
		t.Errorf("a step that an unfinished run did not reach: %s", got)
	}
}

func TestLargeRun(t *testing.T) {
	s := shown(journal.Succeeded)
	for range listgraph.MaxSteps {
		s.Invocations[0].Parts = append(s.Invocations[0].Parts, executor.Part{Addr: "file:/b", Outcome: "done"})
	}
	g := listgraph.OfRun("web1", s)
	notes := strings.Join(g.Notes, "\n")
	if len(g.Nodes) != listgraph.MaxSteps || !strings.Contains(notes, "only the first 2000 of 2004") {
		t.Errorf("%d nodes, notes %q", len(g.Nodes), g.Notes)
	}
}
