package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// An exemption is in force after the approvals of two users, for its time. Without them, the request ends.
func TestExemptionState(t *testing.T) {
	e := assign.Exemption{ID: "e1", By: "ann", At: 1000, Seconds: 600}
	state := func(now int64) assign.ExemptionState {
		got, _ := e.State(now)
		return got
	}
	if state(1000) != assign.ExemptionWaits || state(1000+assign.ExemptionWait) != assign.ExemptionEnded {
		t.Error("the request without approvals")
	}
	e, ok := e.ApprovedBy("ann", 1100)
	again, twice := e.ApprovedBy("ann", 1200)
	if !ok || twice || len(again.Approvals) != 1 || state(1200) != assign.ExemptionWaits {
		t.Error("the approval of the same user counts twice")
	}
	if e, ok = e.ApprovedBy("bob", 2000); !ok || state(2000) != assign.ExemptionInForce {
		t.Error("two users have approved")
	}
	e, _ = e.ApprovedBy("eve", 2500)
	if state(2599) != assign.ExemptionInForce || state(2600) != assign.ExemptionEnded {
		t.Error("a third approval prolongs the exemption")
	}
}

// A target with an exemption gets its change outside of its windows, and its assignment has no windows. When the
// exemption ends, the assignment stays.
func TestExemption(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	nights(p, "a")
	p.compute(nil)
	p.commit(2, "b")
	nights(p, "b")
	e := assign.Exemption{ID: "e1", Targets: []fleet.TargetID{idOf("web1")}, Select: []string{"web1"}, By: "ann",
		Reason: "urgent", At: 90, Seconds: 600}
	fold := func() {
		p.state.Fold(assign.Event{Rev: uint64(len(e.Approvals) + 1), Kind: assign.ExemptionEvent, Key: e.ID, Exemption: &e})
	}
	alarmed := func(out assign.Output, kind assign.AlarmKind) bool {
		for _, a := range out.Alarms {
			if a.Kind == kind && strings.Contains(a.Text, "-t web1") && strings.Contains(a.Text, "urgent") {
				return true
			}
		}
		return false
	}
	texts := map[string]bool{}
	for _, user := range []string{"ann", "bob"} {
		fold()
		if got, out := p.compute(nil); len(got) > 0 || !alarmed(out, assign.ExemptionRequested) || out.Next != 7200 {
			t.Errorf("before the approval of %s: %v, %+v", user, got, out.Alarms)
		} else if texts[out.Alarms[0].Text] = true; len(texts) > 1 {
			t.Errorf("an approval changes the alarm, so it is sent again: %v", texts)
		}
		e, _ = e.ApprovedBy(user, 95)
	}
	fold()
	got, out := p.compute(nil)
	if len(got) != 1 || got["web1"] != "b" || !alarmed(out, assign.WindowsIgnored) || out.Next != 695 {
		t.Fatalf("%v, %+v, again at %d", got, out.Alarms, out.Next)
	}
	if len(out.Assignments[0].Windows) > 0 {
		t.Error("the assignment has windows")
	}
	later := assign.Compute(p.state.Input(695, p.revisions))
	if len(later.Assignments) > 0 || alarmed(later, assign.WindowsIgnored) {
		t.Errorf("after the end: %+v, %+v", later.Assignments, later.Alarms)
	}
	e.Targets, e.Select = nil, nil
	p.state.Fold(assign.Event{Rev: 9, Kind: assign.ExemptionEvent, Key: e.ID, Exemption: &e})
	if all := assign.Compute(p.state.Input(100, p.revisions)); len(all.Assignments) != 2 {
		t.Errorf("%d targets of an exemption of all", len(all.Assignments))
	}
}

// An exemption in force is for its targets, or for all targets.
func TestScopeOfExemptions(t *testing.T) {
	web, all := idOf("web1"), []fleet.TargetID(nil)
	for _, c := range []struct {
		targets   []fleet.TargetID
		selected  string
		approvals int
		scope     string
		web, db   bool
	}{
		{[]fleet.TargetID{web}, "web*", 2, "-t web*", true, false},
		{[]fleet.TargetID{web}, "web*", 1, "-t web*", false, false},
		{all, "", 2, "all targets", true, true}, {all, "", 0, "all targets", false, false},
	} {
		e := assign.Exemption{Targets: c.targets, Select: strings.Fields(c.selected), At: 1000, Seconds: 60}
		for i := range c.approvals {
			e, _ = e.ApprovedBy(nameOf(i), 1000)
		}
		if e.Scope() != c.scope || e.Exempts(web, 1010) != c.web || e.Exempts(idOf("db1"), 1010) != c.db ||
			e.Exempts(web, 1060) {
			t.Errorf("%+v: %q, %t, %t", c, e.Scope(), e.Exempts(web, 1010), e.Exempts(idOf("db1"), 1010))
		}
	}
}
