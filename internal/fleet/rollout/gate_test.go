package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// gated returns a fleet with a rollout r2 whose first wave waits for a gate.
func gated(t *testing.T, g rollout.Gate, author ...string) *fleet {
	f := begun(t, 20)
	copy(f.author[:], author)
	f.strategy.Waves = slices.Clone(f.strategy.Waves)
	f.strategy.Waves[0].Gates = []rollout.Gate{g}
	f.head["web"] = "w2"
	f.until(t, "the gate", func() bool { r := f.s.Rollouts["r2"]; return r != nil && r.Settled > 0 })
	return f
}

func board(need int) rollout.Gate {
	return rollout.Gate{Name: "board", Type: rollout.ApprovalGate, Need: need, Expires: 1000}
}

// gate gives an answer to the gate, and checks whether it is accepted.
func (f *fleet) gate(t *testing.T, want bool, c rollout.Command) {
	t.Helper()
	c.Rollout = "r2"
	if f.answer(c) != want {
		t.Errorf("%+v is accepted: %t", c, !want)
	}
}

func approve(by string) rollout.Command { return rollout.Command{Action: rollout.ToApprove, By: by} }

// TestApprovals: two users must approve, each counts once, and promote ends no gate.
func TestApprovals(t *testing.T) {
	f := gated(t, board(2))
	f.gate(t, true, approve("ann"))
	f.gate(t, false, approve("ann"))
	f.command(t, rollout.ToPromote, "")
	f.rest(300)
	r := f.s.Rollouts["r2"]
	if want := "waits for the approval of 1 of 2 users (board)"; r.Waits() != want || f.have("w2") != 1 {
		t.Errorf("%q, and %d have the change", r.Waits(), f.have("w2"))
	}
	_, why := f.s.Allowed(r.Plan.Waves[2].Members[0], "main", rollout.Change{Part: "web", Digest: "w2"})
	if !strings.Contains(why, "the current wave first waits for the approval of 1 of 2 users (board)") {
		t.Error(why)
	}
	_, why = f.s.Allowed("other", "main", rollout.Change{Part: "web", Digest: "w2"})
	if !strings.Contains(why, "needed the change and waits for the approval of 1 of 2 users (board)") {
		t.Error(why)
	}
	f.gate(t, true, approve("bob"))
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestApprovalOfGroups: the gate accepts the named users and the members of its groups, and nobody else.
func TestApprovalOfGroups(t *testing.T) {
	g := board(2)
	g.Users, g.Groups = []string{"bob"}, []string{"dba", "sre"}
	f := gated(t, g)
	if want := "waits for the approval of 2 of 2 users (board: bob, members of dba, members of sre)"; f.s.Rollouts["r2"].
		Waits() != want {
		t.Error(f.s.Rollouts["r2"].Waits())
	}
	for _, c := range []struct {
		by     string
		groups []string
		want   bool
	}{{"ann", nil, false}, {"ann", []string{"web"}, false}, {"dba", nil, false}, {"eve", []string{"web", "sre"}, true},
		{"bob", nil, true}} {
		order := approve(c.by)
		order.Groups = c.groups
		f.gate(t, c.want, order)
	}
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestApprovalExpires: an old approval does not count, and the user can repeat it.
func TestApprovalExpires(t *testing.T) {
	f := gated(t, board(2))
	f.gate(t, true, approve("ann"))
	f.rest(1000)
	f.gate(t, true, approve("bob"))
	if f.rest(100); f.have("w2") != 1 {
		t.Error(f.text())
	}
	f.gate(t, true, approve("ann"))
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestApprovalIsVoid: after a member failed, the approvals for the earlier bake time do not count.
func TestApprovalIsVoid(t *testing.T) {
	f := gated(t, board(2))
	f.gate(t, true, approve("ann"))
	f.strategy.MaxFailed = rollout.Amount{Number: 1}
	first := f.first()
	first.broken = true
	f.until(t, "a failure", func() bool { return f.phase("r2") != rollout.Active })
	if n := len(f.s.Rollouts["r2"].GateState(0, "board").Approvals); f.phase("r2") != rollout.RollingBack || n != 1 {
		t.Errorf("%s, %d approvals", f.phase("r2"), n)
	}
	f.gate(t, false, approve("bob"))
}

// TestAuthor: the author does not count. If the author is not a known user, one user more must approve.
func TestAuthor(t *testing.T) {
	g := board(1)
	g.NotAuthor = true
	for _, c := range []struct {
		git, user string
		by        []string
		accepted  []bool
	}{
		{"Ann <ann@example.org>", "ann", []string{"ann", "bob"}, []bool{false, true}},
		{"Ann <ann@example.org>", "", []string{"ann@example.org", "Ann", "bob", "eve"}, []bool{false, false, true, true}},
		{"", "", []string{"ann", "bob"}, []bool{true, true}},
	} {
		f := gated(t, g, c.git, c.user)
		for i, by := range c.by {
			if f.rest(5); f.have("w2") != 1 {
				t.Errorf("%+v: the wave ended before %s", c, by)
			}
			f.gate(t, c.accepted[i], approve(by))
		}
		f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
	}
}

// TestRejected: a user with a voice at the gate ends the rollout, also before its bake time.
func TestRejected(t *testing.T) {
	g := board(1)
	g.Users = []string{"ann"}
	f := gated(t, g)
	f.gate(t, false, rollout.Command{Action: rollout.ToReject, By: "bob"})
	f.gate(t, true, rollout.Command{Action: rollout.ToReject, By: "ann", Why: "too early"})
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	if why := f.s.Rollouts["r2"].Why; why != "ann rejected the gate board of the wave first: too early" {
		t.Error(why)
	}
}

func metric() rollout.Gate {
	return rollout.Gate{Name: "errors", Type: rollout.MetricGate, URL: "http://metrics", Count: 2, Interval: 30,
		InitialDelay: 60, FailureLimit: 1, ErrorLimit: 1}
}

// measure lets the hub ask a gate that is due.
func (f *fleet) measure(t *testing.T, v rollout.Verdict) {
	t.Helper()
	var due []rollout.Due
	f.until(t, "the next query", func() bool { due = f.s.Due(f.now); return len(due) > 0 })
	f.gate(t, true, rollout.Command{Action: rollout.ToJudge, Gate: due[0].Gate.Name, Verdict: v, Period: due[0].Period,
		Why: "the value is 7"})
	f.step(1)
}

// TestMetric: a gate is asked after its delay, then at its interval, and acts beyond its limits.
func TestMetric(t *testing.T) {
	p, x, e := rollout.Pass, rollout.Fail, rollout.Unclear
	for _, c := range []struct {
		verdicts []rollout.Verdict
		dry      bool
		want     rollout.Phase
	}{
		{[]rollout.Verdict{p, p}, false, rollout.Completed},
		{[]rollout.Verdict{p, x, p}, false, rollout.Completed},
		{[]rollout.Verdict{e, p, e, p}, false, rollout.Completed},
		{[]rollout.Verdict{p, x, x}, false, rollout.RolledBack},
		{[]rollout.Verdict{p, e, e}, false, rollout.OnHold},
		{nil, true, rollout.Completed},
	} {
		g := metric()
		g.DryRun = c.dry
		f := gated(t, g)
		began := f.now
		for _, v := range c.verdicts {
			f.measure(t, v)
		}
		if least := int64(60 + 30*(len(c.verdicts)-1)); !c.dry && f.now-began < least {
			t.Errorf("%v took %d s, and must take %d s", c.verdicts, f.now-began, least)
		}
		f.until(t, string(c.want), func() bool { return f.phase("r2") == c.want })
	}
}

// TestMetricAfterResume: a gate that paused its rollout must pass after the resumption.
func TestMetricAfterResume(t *testing.T) {
	f := gated(t, metric())
	f.measure(t, rollout.Unclear)
	f.measure(t, rollout.Unclear)
	if why := f.s.Rollouts["r2"].Why; why != "the gate errors of the wave first has no result: the value is 7" {
		t.Error(why)
	}
	f.command(t, rollout.ToResume, "")
	f.rest(5)
	f.measure(t, rollout.Pass)
	if f.rest(20); f.have("w2") != 1 {
		t.Error("one value is enough")
	}
	f.measure(t, rollout.Pass)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestWaveWithoutMembers: its gates count if later waves have members.
func TestWaveWithoutMembers(t *testing.T) {
	s := rollout.Strategy{Waves: []rollout.WaveRule{
		{Name: "canary", Selected: map[rollout.ID]bool{}, Gates: []rollout.Gate{board(1)}},
		{Name: "all"}, {Name: "end", Gates: []rollout.Gate{board(1)}}}}
	waves := s.Distribute([]rollout.ID{"a", "b"}, "r1")
	if len(waves) != 2 || waves[0].Name != "canary" || waves[1].Name != "all" {
		t.Errorf("%+v", waves)
	}
}

// TestApprovalBelongsToContent: a newer content of the part is another rollout, for which an approval does not count.
func TestApprovalBelongsToContent(t *testing.T) {
	f := gated(t, board(2))
	f.gate(t, true, approve("ann"))
	f.head["web"] = "w3"
	f.until(t, "the gate of the newer content", func() bool {
		r := f.s.Rollouts["r3"]
		return r != nil && r.Settled > 0
	})
	f.gate(t, false, approve("bob"))
	old, now := f.s.Rollouts["r2"], f.s.Rollouts["r3"]
	if n := len(now.GateState(0, "board").Approvals); n > 0 || old.Phase != rollout.Superseded ||
		old.Plan.Changes[0].Digest == now.Plan.Changes[0].Digest {
		t.Errorf("%d approvals of %+v count for %+v", n, old.Plan.Changes, now.Plan.Changes)
	}
	bob := approve("bob")
	bob.Rollout = "r3"
	if !f.answer(bob) || now.Waits() != "waits for the approval of 1 of 2 users (board)" {
		t.Errorf("%q\n%s", now.Waits(), f.text())
	}
}
