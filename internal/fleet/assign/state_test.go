package assign_test

import (
	"bytes"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// TestEventsChangeTheState: each event changes the canonical form of the state, and its removal restores the form.
// Later changes of the caller's value do not count.
func TestEventsChangeTheState(t *testing.T) {
	id := string(idOf("web1"))
	target, ref := fleet.Target{ID: idOf("web1"), Name: "web1", Standing: fleet.Active}, assign.Ref{Commit: hash("a")}
	for _, e := range []assign.Event{
		{Kind: assign.TargetEvent, Key: id, Target: &target},
		{Kind: assign.PinEvent, Key: "p", Pin: &assign.Pin{Key: "p", Target: idOf("web1")}},
		{Kind: assign.FreezeEvent, Key: "f", Freeze: &assign.Freeze{Key: "f", Reason: "lunch"}},
		{Kind: assign.ReplacementEvent, Key: "all", Replacement: &assign.Replacement{Part: "all"}},
		{Kind: assign.ExemptionEvent, Key: "e1", Exemption: &assign.Exemption{ID: "e1"}},
		{Kind: assign.BinaryEvent, Key: "b", Binary: &assign.BinarySetting{Key: "b"}},
		{Kind: assign.RefEvent, Key: "main", Ref: &ref},
		{Kind: assign.ApprovalEvent, Key: "a", Approval: &assign.Approval{Digest: "a"}},
		{Kind: assign.ExportsEvent, Key: id, Exports: &[]exported.Own{{Module: "modules/web"}}},
	} {
		s := assign.NewState(1, "main")
		before := s.Marshal()
		e.Rev = 1
		s.Fold(e)
		after := s.Marshal()
		if bytes.Equal(before, after) {
			t.Errorf("the event %s changes nothing", e.Kind)
		}
		target.Name, ref.Commit = "web2", hash("b")
		if !bytes.Equal(s.Marshal(), after) {
			t.Errorf("the state changes after the event %s", e.Kind)
		}
		s.Fold(assign.Event{Rev: 2, Kind: e.Kind, Key: e.Key})
		if got := s.Marshal(); !bytes.Equal(got, before) {
			t.Errorf("after the removal of %s:\n%s\nwant\n%s", e.Kind, got, before)
		}
		s.Fold(e)
		if got := s.Marshal(); !bytes.Equal(got, before) {
			t.Errorf("an older event %s counts after the removal", e.Kind)
		}
	}
}

// TestBranchThatCannotBeRead: while the hub cannot read the branch, targets follow the last commit that it has read.
func TestBranchThatCannotBeRead(t *testing.T) {
	g := newGuarded(t, 1, "top=1", "web=1@*")
	g.push("main", "top=1", "web=2@*")
	newest := commitOf("main[top=1 web=2@*]")
	g.fold(assign.Event{Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: newest, Error: "the server is down"}})
	out := g.compute()
	if got := commits(out, 0); got["modules/web"] != newest || len(out.Alarms) != 1 ||
		!strings.Contains(out.Alarms[0].Text, "cannot read the branch main") ||
		!strings.Contains(out.Alarms[0].Text, "the server is down") {
		t.Errorf("%v, %+v", got, out.Alarms)
	}
}

// TestCommitWithoutABundle: targets keep their assignments if a commit lacks the bundle of one of their modules.
func TestCommitWithoutABundle(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	p.compute(nil)
	p.commit(2, "b")
	delete(p.revisions[hash("b")].Bundles, "modules/web")
	got, out := p.compute(nil)
	if len(got) > 0 || len(out.Alarms) != 1 || out.Alarms[0].Kind != assign.NoBundle ||
		!strings.Contains(out.Alarms[0].Text, "the revision bbbbbbbbbbbb has no bundle of modules/web") {
		t.Errorf("%v, %+v", got, out.Alarms)
	}
}

// TestWrittenAssignments: after the assignments of a computation were written, the explanations describe them as
// present, also of targets that got none.
func TestWrittenAssignments(t *testing.T) {
	g := newGuarded(t, 3, "top=1", "web=1@role=a")
	g.push("main", "top=1", "web=1@role=a", "new=1@role=b")
	g.label(1, "b")
	g.s.MaxPinned = 1000
	out := g.look()
	last := func(i int) string {
		lines := out.Why(idOf(nameOf(i)), "")
		return lines[len(lines)-1]
	}
	if last(0) != "it has generation 1 of epoch 1" || last(1) != "it gets generation 2 of epoch 1" {
		t.Errorf("before: %q, %q", last(0), last(1))
	}
	for range 2 {
		out.Written()
	}
	for i, want := range []string{"it has generation 1 of epoch 1", "it has generation 2 of epoch 1",
		"it has generation 1 of epoch 1"} {
		if last(i) != want {
			t.Errorf("after: %q", last(i))
		}
	}
}

// TestApprovalOfOneChange: an approval is for the targets that lose the module and the targets that keep it.
func TestApprovalOfOneChange(t *testing.T) {
	g := newGuarded(t, 20, "top=1", "a=1@role=a", "base=1@*")
	for i := range 10 {
		g.label(i, "b")
	}
	first := digestOf(g.look(), assign.MassRemoval)
	g.label(20, "a") // another target gets the module
	second := digestOf(g.look(), assign.MassRemoval)
	g.approve(first, g.now)
	if out := g.look(); first == "" || second == "" || first == second || digestOf(out, assign.MassRemoval) != second {
		t.Errorf("%q, %q, %+v", first, second, out.Alarms)
	}
}
