package rollout_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestNoQueryBeforeTheBakeTime: while members of the wave are not ready, no gate is asked.
func TestNoQueryBeforeTheBakeTime(t *testing.T) {
	f := begun(t, 20)
	g := metric()
	g.InitialDelay = 0
	f.strategy.Waves[0].Gates = []rollout.Gate{g}
	f.head["web"] = "w2"
	f.until(t, "the bake time", func() bool {
		r := f.s.Rollouts["r2"]
		if r != nil && r.Settled == 0 && len(f.s.Due(f.now)) > 0 {
			t.Fatalf("a gate is asked before the bake time:\n%s", f.text())
		}
		return r != nil && r.Settled > 0
	})
	if len(f.s.Due(f.now)) != 1 {
		t.Error("the gate is not asked in the bake time")
	}
}

// TestUnknownVerdict: neither a user nor the hub can report a verdict that does not exist.
func TestUnknownVerdict(t *testing.T) {
	f := gated(t, metric())
	period := f.s.Rollouts["r2"].Period
	for _, v := range []rollout.Verdict{"", "good", "Pass"} {
		f.gate(t, false, rollout.Command{Action: rollout.ToJudge, Gate: "errors", Verdict: v, By: "ann"})
		f.gate(t, false, rollout.Command{Action: rollout.ToJudge, Gate: "errors", Verdict: v, Period: period})
	}
	f.gate(t, false, rollout.Command{Action: rollout.ToJudge, Gate: "errors", Verdict: rollout.Later, By: "ann"})
	f.gate(t, true, rollout.Command{Action: rollout.ToJudge, Gate: "errors", Verdict: rollout.Later, Period: period})
}

// TestDefinitionIsMissing: a log in which a definition is not readable has no effect on its lane.
func TestDefinitionIsMissing(t *testing.T) {
	s := rollout.NewState()
	s.Fold(rollout.Event{Kind: rollout.Defined, Lane: "main careful"})
	if len(s.Rollouts) != 0 {
		t.Errorf("%+v", s.Rollouts)
	}
}

// TestQueueOfNewHosts: the reason of a host that waits counts new hosts and those that returned.
func TestQueueOfNewHosts(t *testing.T) {
	f := away(t, 40, 30)
	f.add("new1")
	f.back()
	f.step(1)
	why := f.s.Reason(f.world(), "h39", rollout.Change{Part: "web", Digest: "w2"})
	if !strings.Contains(why, "waits for 11 other targets that catch up") {
		t.Error(why)
	}
}

// TestBehind: hosts without contact are behind if they lack stable content, and the others are not.
func TestBehind(t *testing.T) {
	f := away(t, 8, 3)
	f.hosts["h00"].online = false
	f.hosts["h06"].online, f.hosts["h06"].hold = true, "a local hold"
	f.step(1)
	gone, waiting := f.s.Behind(f.world())
	if len(gone) != 2 || gone[0] != "h05" || gone[1] != "h07" || waiting {
		t.Errorf("%v are behind, others wait: %t", gone, waiting)
	}
	f.hosts["h06"].hold = ""
	f.step(1)
	if gone, waiting = f.s.Behind(f.world()); len(gone) != 2 || !waiting {
		t.Errorf("%v are behind, others wait: %t", gone, waiting)
	}
}

// TestSpreadWithoutLabel: hosts without the label are one group, which the reason of a pause names.
func TestSpreadWithoutLabel(t *testing.T) {
	s := rollout.AtOnce()
	s.Spread = &rollout.Spread{Label: "room", Max: 1}
	f := newFleet(t, 6, s)
	f.hosts["h00"].broken = true
	f.until(t, "the pause", func() bool { r := f.s.Rollouts["r1"]; return r != nil && r.Phase == rollout.OnHold })
	want := "as many members without the label room as may be unavailable failed or are silent"
	if r := f.s.Rollouts["r1"]; r.Why != want {
		t.Errorf("%q", r.Why)
	}
}
