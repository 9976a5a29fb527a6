package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// pinTarget sets the pin in the registry entry of a target.
func (g *guarded) pinTarget(i int, p fleet.Pin) {
	t := fleet.Target{ID: idOf(nameOf(i)), Name: nameOf(i), Standing: fleet.Active, Pin: &p,
		Labels: map[string]string{"role": "a"}}
	g.fold(assign.Event{Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
}

// pinModule adds a pin of a module.
func (g *guarded) pinModule(i int, key, module, ref string) {
	p := assign.Pin{Key: key, Target: idOf(nameOf(i)), Pin: fleet.Pin{Module: module, Ref: ref, By: "ann"}}
	g.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
}

// commits returns the commits of the parts of the new assignment of a target, by part; nil if there is none.
func commits(out assign.Output, i int) map[string]string {
	for _, a := range out.Assignments {
		if a.Name != nameOf(i) {
			continue
		}
		all := map[string]string{"top": a.Root.Revision.Commit}
		for _, m := range a.Modules {
			all[m.Module] = m.Revision.Commit
		}
		return all
	}
	return nil
}

// TestTwoPinsOfOneTarget: two pins contradict each other only if their refs differ.
func TestTwoPinsOfOneTarget(t *testing.T) {
	fix := []string{"top=2", "web=2@*", "base=1@*"}
	for name, c := range map[string]struct {
		first, second fleet.Pin
		want          string // the text of the alarm, or ""
	}{
		"one ref":        {fleet.Pin{Ref: "fix", By: "ann"}, fleet.Pin{Ref: "fix", By: "bob"}, ""},
		"other refs":     {fleet.Pin{Ref: "fix"}, fleet.Pin{Ref: "old"}, "because the target is pinned to fix and to old."},
		"one module":     {fleet.Pin{Ref: "fix", Module: "modules/web"}, fleet.Pin{Ref: "fix", Module: "modules/web"}, ""},
		"other modules":  {fleet.Pin{Ref: "fix", Module: "modules/web"}, fleet.Pin{Ref: "old", Module: "modules/base"}, ""},
		"target, module": {fleet.Pin{Ref: "fix"}, fleet.Pin{Ref: "old", Module: "modules/base"}, ""},
		"a module with other refs": {fleet.Pin{Ref: "old", Module: "modules/web"},
			fleet.Pin{Ref: "fix", Module: "modules/web"}, "because modules/web is pinned to fix and to old."},
	} {
		g := newGuarded(t, 2, "top=1", "web=1@*", "base=1@*")
		g.push("fix", fix...)
		g.push("old", "top=1", "web=0@*", "base=0@*")
		g.pinTarget(0, c.first)
		p := assign.Pin{Key: "second", Target: idOf(nameOf(0)), Pin: c.second}
		g.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
		out := g.compute()
		var alarms []string
		for _, a := range out.Alarms {
			alarms = append(alarms, a.Text)
		}
		got := strings.Join(alarms, "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (commits(out, 0) == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, commits(out, 0))
		}
	}
}

// TestPinOfAModuleExplained: the origin of a module and the branch of its target are explained by the branch, also if
// the module is pinned to a commit with another origin.
func TestPinOfAModuleExplained(t *testing.T) {
	g := newGuarded(t, 2, "top=1", "web=1@role=a")
	g.push("fix", "top=2", "web=2@*")
	why := func() string { return strings.Join(g.compute().Why(idOf(nameOf(0)), "modules/web"), "\n") }
	g.pinModule(0, "x", "modules/web", "fix")
	for _, line := range []string{"modules/web is pinned to fix by ann", "it follows main",
		"modules/web is assigned by target group role=a", " of fix"} {
		if got := why(); !strings.Contains(got, line) {
			t.Errorf("it lacks %q:\n%s", line, got)
		}
	}
	g.fold(assign.Event{Kind: assign.PinEvent, Key: "x"})
	g.pin(0, "fix", 0)
	got := why()
	if !strings.Contains(got, "modules/web is assigned by target group *") || strings.Contains(got, "follows") {
		t.Errorf("with a pin of the target:\n%s", got)
	}
}

// TestPermitOfOnePin: the permit of a pin is for its target, and not for others with the same pin and modules.
func TestPermitOfOnePin(t *testing.T) {
	g := newGuarded(t, 3, "top=1", "web=1@*")
	g.push("fix", "top=2", "web=2@*")
	g.pinTarget(0, fleet.Pin{Ref: "fix", Permit: "signed"})
	g.pinTarget(1, fleet.Pin{Ref: "fix"})
	g.pinTarget(2, fleet.Pin{Ref: "fix", Permit: "signed for another one"})
	out := g.compute()
	if len(out.Assignments) != 3 {
		t.Fatalf("%+v", out)
	}
	for i, want := range []string{"signed", "", "signed for another one"} {
		if a := out.Assignments[i]; a.Root.Permit != want || a.Modules[0].Permit != want {
			t.Errorf("%s has the permits %q and %q", a.Name, a.Root.Permit, a.Modules[0].Permit)
		}
	}
	g.push("old", "top=1", "web=0@*")
	g.pinModule(0, "module", "modules/web", "old")
	out = g.compute()
	if len(out.Assignments) != 1 || out.Assignments[0].Root.Permit != "signed" ||
		out.Assignments[0].Modules[0].Permit != "" {
		t.Errorf("the permit is for another commit of a module: %+v", out.Assignments)
	}
}

// TestPinOfALostRef: while a ref cannot be read, its targets keep the last commit, and an alarm names the problem.
func TestPinOfALostRef(t *testing.T) {
	g := newGuarded(t, 2, "top=1", "web=1@*")
	g.push("fix", "top=2", "web=2@*")
	commit := commitOf("fix" + "[top=2 web=2@*]")
	g.fold(assign.Event{Kind: assign.RefEvent, Key: "fix", Ref: &assign.Ref{Commit: commit, Error: "the server is down"}})
	g.pin(0, "fix", 0)
	out := g.compute()
	if got := commits(out, 0); got["top"] != commit || len(out.Alarms) != 1 || out.Alarms[0].Kind != assign.Unresolved ||
		!strings.Contains(out.Alarms[0].Text, "pinned to fix, which cannot be resolved: the server is down") {
		t.Errorf("%v, %+v", got, out.Alarms)
	}
}

// TestUnchangedModulesOfOneTarget: a target keeps the commit of an unchanged module. A new target with the same modules
// gets them at the newest commit.
func TestUnchangedModulesOfOneTarget(t *testing.T) {
	g := newGuarded(t, 1, "top=1", "web=1@*", "base=1@*")
	g.push("main", "top=1", "web=2@*", "base=1@*")
	g.label(1, "a")
	out := g.compute()
	newest := commitOf("main[top=1 web=2@* base=1@*]")
	old, added := commits(out, 0), commits(out, 1)
	if old["modules/web"] != newest || old["top"] != newest || old["modules/base"] == newest || old["modules/base"] == "" {
		t.Errorf("the old target: %v", old)
	}
	for part, commit := range added {
		if commit != newest || len(added) != 3 {
			t.Errorf("the new target has %s at %s", part, commit)
		}
	}
}

// TestPinToTheBranch: a pin to the branch that a target follows is a new pin, which the limit can block.
func TestPinToTheBranch(t *testing.T) {
	g := newGuarded(t, 5, "top=1", "web=1@*")
	g.s.MaxPinned = 1
	g.pin(0, "main", 0)
	if out := g.compute(); len(out.Alarms) > 0 || commits(out, 0) == nil {
		t.Errorf("one pin: %+v", out.Alarms)
	}
	g.pin(1, "main", 0)
	if out := g.compute(); digestOf(out, assign.TooManyPinned) == "" || commits(out, 1) != nil {
		t.Errorf("two pins: %+v", out)
	}
	g.fold(assign.Event{Kind: assign.PinEvent, Key: nameOf(1)})
	g.label(5, "a")
	g.pin(5, "main", 0)
	if out := g.compute(); digestOf(out, assign.TooManyPinned) == "" || commits(out, 5) != nil {
		t.Errorf("the pin of a new target: %+v", out)
	}
}

// TestPinToAnotherRef: another ref makes a pin a new one, which the limit can block.
func TestPinToAnotherRef(t *testing.T) {
	g := newGuarded(t, 5, "top=1", "web=1@*")
	g.push("fix", "top=2", "web=2@*")
	g.push("old", "top=3", "web=3@*")
	g.s.MaxPinned = 2
	g.pin(0, "fix", 0)
	g.pin(1, "fix", 0)
	if out := g.compute(); len(out.Assignments) != 2 {
		t.Fatalf("%+v", out)
	}
	g.s.MaxPinned = 1
	g.pin(1, "old", 0)
	if out := g.compute(); digestOf(out, assign.TooManyPinned) == "" || commits(out, 1) != nil {
		t.Errorf("%+v", out)
	}
}
