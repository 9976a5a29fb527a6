package agent_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// Author implements agent.Authors.
func (h *hub) Author(as fleet.Assigned) string { return h.authors[as.Revision.Commit] }

// at returns a part at a commit.
func at(as fleet.Assigned, commit, subject string) fleet.Assigned {
	as.Revision = fleet.Revision{Repository: "site", Commit: strings.Repeat(commit, 40), Subject: subject, Time: 7,
		Branch: "main"}
	return as
}

// A run records the assigned commit, and the commits of all parts with their authors. The applied
// state also has them, and the source lines of its states.
func TestRevisionsOfARun(t *testing.T) {
	n := newNode(t)
	n.hub.authors = map[string]string{strings.Repeat("b", 40): "Bea <bea@example.org>"}
	base, web := at(n.hub.part("modules/base", motd("one\n")), "a", "begin"),
		at(n.hub.part("modules/web", issue("one\n")), "a", "begin")
	n.hub.assignTop(1, at(n.hub.part("", top), "a", "begin"), base, web)
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	web = at(n.hub.part("modules/web",
		map[string]string{"module.hcl": "\nfile \"/etc/issue\" {\n  content = \"two\\n\"\n}\n"}), "b", "greet")
	n.hub.assignTop(2, at(n.hub.part("", top), "b", "greet"), base, web)
	n.hub.connect(false)
	n.hub.connect(true)
	n.hub.heard(t, "the second", func(r fleet.Report) bool { return isReady(r) && r.Status.Generation == 2 })
	n.stop()

	x, _, err := n.engine(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	runs, err := x.Runs(context.Background())
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	state, err := x.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]repo.Revision{"run": runs[1].Header.Revision, "state": state.State.Revision} {
		if r.Commit != strings.Repeat("b", 40) || r.Subject != "greet" || r.Author != "Bea <bea@example.org>" ||
			len(r.Parts) != 3 {
			t.Fatalf("the %s has the revision %+v", what, r)
		}
		for file, want := range map[string]string{"fettle.hcl": "b", "modules/base/module.hcl": "a",
			"modules/web/module.hcl": "b", "modules/website/x": "b"} {
			if p, ok := r.PartOf(file); !ok || p.Commit != strings.Repeat(want, 40) {
				t.Errorf("the %s has %s of %+v, want commit %s", what, file, p, want)
			}
		}
	}
	if p, _ := runs[1].Header.Revision.PartOf("modules/base/x"); p.Author != "" || p.Subject != "begin" {
		t.Errorf("the author of a commit that is not known: %+v", p)
	}
	if run, ok, err := x.RunOf(context.Background(), "bbbb"); err != nil || !ok || run != 2 {
		t.Errorf("run %d of the assigned commit, %t, %v", run, ok, err)
	}
	shown, err := x.Show(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, st := range shown.States {
		lines[st.Source] = st.Line
	}
	if lines["modules/web/module.hcl:2"] != `file "/etc/issue" {` || lines["modules/base/module.hcl:1"] == "" {
		t.Errorf("%q", lines)
	}
}
