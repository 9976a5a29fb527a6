package assign_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// TestReplacedNeeds: a module that a rollback replaces has the needs of its own commit. Needs from layers stay.
func TestReplacedNeeds(t *testing.T) {
	f := newReplacing("b")
	db, base := fleet.Need{Module: "modules/db", Level: fleet.Available}, fleet.Need{Module: "modules/db", Layer: true}
	f.in.Revisions[hash("a")].Targets["web1"].Modules[0].Needs = []fleet.Need{db}
	if f.order("modules/web b a"); f.gets() != "bab" {
		t.Errorf("the contents are %s", f.gets())
	}
	needs := func() string { return fmt.Sprint(f.in.Previous[f.target.ID].Modules[0].Needs) }
	if got := needs(); got != fmt.Sprint([]fleet.Need{db}) {
		t.Errorf("the needs are %s", got)
	}
	f.in.Revisions[hash("a")].Targets["web1"].Modules[0].Needs = nil
	f.in.Revisions[hash("b")].Targets["web1"].Modules[0].Needs = []fleet.Need{base}
	if f.gets(); needs() != fmt.Sprint([]fleet.Need{base}) {
		t.Errorf("with a layer, the needs are %s", needs())
	}
}

// TestReplacedParts: a rollback of all parts changes the parts that the other commit has.
func TestReplacedParts(t *testing.T) {
	for missing, want := range map[string]string{"modules/db": "aac", "modules/web": "aca", "modules/x": "aaa"} {
		f := newReplacing("c")
		f.order("all c a")
		delete(f.in.Revisions[hash("a")].Bundles, missing)
		if got := f.gets(); got != want {
			t.Errorf("without %s: %s instead of %s", missing, got, want)
		}
	}
}

// TestHeldRootAndPins: a target that has the held root bundle still gets newer modules, and a pin has priority, while
// the content of a rollback is unknown.
func TestHeldRootAndPins(t *testing.T) {
	f := newReplacing("c")
	f.gets()
	f.order("top c a")
	f.in.Revisions[hash("a")] = assign.Contents{Error: "it does not compile"}
	f.commit("d", "cdd")
	f.head("d")
	if got := f.gets(); got != "cdd" {
		t.Errorf("a target with the held root bundle: %s", got)
	}
	clear(f.in.Previous)
	if got := f.gets(); got != "" {
		t.Errorf("a new target: %s", got)
	}
	f.in.Targets[0].Pin = &fleet.Pin{Ref: "main"}
	if got := f.gets(); got != "cdd" {
		t.Errorf("a new target with a pin: %s", got)
	}
}

// TestHeldModuleOfAPin: the pin of a module has priority over a rollback without content.
func TestHeldModuleOfAPin(t *testing.T) {
	f := newReplacing("c")
	f.order("modules/web c a")
	f.in.Revisions[hash("a")] = assign.Contents{Error: "it does not compile"}
	if got := f.gets(); got != "" {
		t.Errorf("a new target: %s", got)
	}
	f.in.Targets[0].Pin = &fleet.Pin{Module: "modules/web", Ref: "main"}
	if got := f.gets(); got != "ccc" {
		t.Errorf("a new target with a pin of the module: %s", got)
	}
}

// TestReplacementExplained: the explanation of a target names the rollback, unless the target is pinned.
func TestReplacementExplained(t *testing.T) {
	f := newReplacing("c")
	f.order("all c a")
	f.in.Replacements[0].Reason = "too slow"
	const end = " is held: the head of main has the content of cccccccccccc, and jane rolled the fleet back to " +
		"aaaaaaaaaaaa: too slow"
	why := func() string { return strings.Join(assign.Compute(f.in).Why(f.target.ID, "modules/web"), "\n") }
	if got := why(); !strings.Contains(got, "modules/web"+end) || !strings.Contains(got, "top"+end) {
		t.Errorf("it lacks %q:\n%s", end, got)
	}
	f.in.Targets[0].Pin = &fleet.Pin{Ref: "main"}
	if got := why(); strings.Contains(got, "is held") {
		t.Errorf("a pinned target:\n%s", got)
	}
	f.in.Targets[0].Pin, f.in.Replacements = nil, nil
	if got := why(); strings.Contains(got, "is held") {
		t.Errorf("without a rollback:\n%s", got)
	}
}

// TestReplacementAlarmsStay: the alarm about a rollback is in each result, as long as it has an effect.
func TestReplacementAlarmsStay(t *testing.T) {
	g := newGuarded(t, 2, "top=1", "web=1@*")
	old := commitOf("main[top=1 web=1@*]")
	g.push("main", "top=1", "web=2@*")
	r := assign.Replacement{Part: "modules/web", Held: commitOf("main[top=1 web=2@*]"), Commit: old, By: "ann", At: g.now}
	g.fold(assign.Event{Kind: assign.ReplacementEvent, Key: r.Part, Replacement: &r})
	g.fold(assign.Event{Kind: assign.RefEvent, Key: old, Ref: &assign.Ref{Commit: old}})
	in := g.w.input(g.s, g.now)
	for i := range 2 {
		again := g.s.Input(g.now, in.Revisions)
		if out := assign.Compute(again); len(out.Alarms) != 1 || out.Alarms[0].Kind != assign.RolloutHeld {
			t.Errorf("computation %d: %+v", i+1, out.Alarms)
		}
	}
}

// TestReplacementBySameContent: a rollback to a commit with the same content holds nothing.
func TestReplacementBySameContent(t *testing.T) {
	f := newReplacing("c")
	f.commit("d", "dcd")
	f.order("modules/web c d")
	out := assign.Compute(f.in)
	if len(out.Alarms) > 0 || len(out.Assignments) != 1 || out.Assignments[0].Modules[0].Revision.Commit != hash("c") {
		t.Errorf("%+v", out)
	}
}

// TestHeldModuleOfATarget: a target that has the held content of a module still gets other modules.
func TestHeldModuleOfATarget(t *testing.T) {
	f := newReplacing("b")
	f.commit("d", "dcd")
	f.head("d")
	f.gets()
	f.order("modules/web c a")
	f.in.Revisions[hash("a")] = assign.Contents{Error: "it does not compile"}
	f.commit("e", "ece")
	f.head("e")
	if got := f.gets(); got != "ece" {
		t.Error(got)
	}
}
