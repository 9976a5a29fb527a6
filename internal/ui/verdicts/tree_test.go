package verdicts

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// flat returns a tree as lines: the state, the name, and notes.
func flat(all []Tree, indent string) (out string) {
	for _, t := range all {
		out += fmt.Sprintf("%s%s %s", indent, t.State, t.Name)
		if t.Repeated {
			out += " repeated"
		}
		if t.More > 0 {
			out += fmt.Sprintf(" +%d", t.More)
		}
		out += "\n" + flat(t.Parts, indent+"  ")
	}
	return out
}

func of(id string, v document.Verdict, members ...string) document.Scope {
	return document.Scope{ID: id, Verdict: v, Scopes: members}
}

func compare(t *testing.T, got []Tree, want ...string) {
	t.Helper()
	if text := flat(got, ""); text != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", text, strings.Join(want, "\n"))
	}
}

// TestTrees: each scope is in the tree. A scope with several containing scopes has its parts once. Cycles end.
func TestTrees(t *testing.T) {
	compare(t, Trees([]document.Scope{of("c/a", "failed"), of("c/b", "ready"), of("r/1", "ready", "c/b", "c/gone", "c/a"),
		of("r/2", "ready", "c/a"), of("room/n", "failed", "r/1", "r/2"), of("room/s", "failed", "r/1"),
		of("x/1", "ready", "x/2"), of("x/2", "unknown", "x/1")}),
		"failed room/n", "  ready r/1", "    failed c/a", "    unknown c/gone", "    ready c/b", "  ready r/2",
		"    failed c/a", "failed room/s", "  ready r/1 repeated", "ready x/1", "  unknown x/2", "    ready x/1 repeated")
	if got := Trees(nil); got != nil {
		t.Errorf("%v", got)
	}
}

// TestManyRepetitions: the size of the trees is limited, and each scope is in them.
func TestManyRepetitions(t *testing.T) {
	var all []document.Scope
	var ids []string
	for i := range 250 {
		ids = append(ids, fmt.Sprintf("c/%03d", i))
		all = append(all, of(ids[i], "ready"))
	}
	for i := range 250 {
		all = append(all, of(fmt.Sprintf("r/%03d", i), "ready", ids...))
	}
	text := flat(Trees(all), "")
	if n := strings.Count(text, "\n"); n != 500+maxRepeated || !strings.Contains(text, "+250") {
		t.Errorf("the trees have %d lines", n)
	}
	for _, x := range all {
		if !strings.Contains(text, x.ID) {
			t.Errorf("%s is missing", x.ID)
		}
	}
}

// TestParts: a scope has its members, checks and tasks with their reasons, and the scopes that it contains.
func TestParts(t *testing.T) {
	d := document.ScopeDetail{Scope: document.Scope{ID: "c/a", Verdict: "failed", Members: 3, Counted: 3, Connected: 3,
		MinMembers: 3, Reasons: []document.ScopeReason{{Verdict: "failed", Subject: "check", Name: "formed", Text: "too few",
			Targets: []string{"db1"}}}},
		Checks: []document.ScopeCheck{{Name: "formed", Verdict: "failed"},
			{Name: "open", Verdict: "ready", OK: 2, Required: 1}},
		Tasks: []document.ScopeTask{{Task: "load", Phase: document.TaskDone}}}
	got := Of(d, nil)
	compare(t, []Tree{got}, "failed c/a", "  ready members", "  failed check formed", "  ready check open",
		"  done task load")
	if c := got.Parts[1]; c.Text != "too few" || c.Targets[0] != "db1" || c.Place != "check-formed" ||
		got.Parts[2].Text != "succeeds on 2 targets, 1 are required" ||
		got.Parts[0].Text != "3 of 3 members are connected, the minimum is 3" {
		t.Errorf("%+v", got.Parts)
	}
	d.Scope.Reasons = []document.ScopeReason{{Verdict: "failed", Subject: "members", Text: "2 of 3"},
		{Verdict: "failed", Subject: "members", Text: "overlap"}}
	d.Scope.Connected, d.Checks, d.Tasks = 2, nil, nil
	compare(t, []Tree{Of(d, nil)}, "failed c/a", "  failed members", "  failed members")
	d.Scope = document.Scope{ID: "r/1", Verdict: "ready", Scopes: []string{"c/a", "c/b"}}
	compare(t, []Tree{Of(d, []document.Scope{of("c/a", "empty"), of("c/b", "ready"), d.Scope})}, "ready r/1",
		"  empty c/a", "  ready c/b")
	d.Scope = document.Scope{ID: "c/a", Verdict: "empty", Members: 2}
	compare(t, []Tree{Of(d, nil)}, "empty c/a", "  empty members")
}
