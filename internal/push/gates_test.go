package push_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
)

// gated returns the strategy careful with gates at the end of its first wave.
func gated(gates ...rollout.Gate) rollout.Strategy {
	s := rollout.Careful()
	for i := range gates {
		gates[i].Interval, gates[i].Count = 10, max(1, gates[i].Count)
	}
	s.Waves[0].Gates = gates
	return s
}

func (x *site) kinds() string {
	var out []string
	for _, r := range x.log {
		if r.Event != nil {
			out = append(out, string(r.Event.Kind))
		}
	}
	return strings.Join(out, " ")
}

var (
	errorsGate = rollout.Gate{Name: "errors", Type: rollout.MetricGate, URL: "http://prometheus"}
	testsGate  = rollout.Gate{Name: "tests", Type: rollout.WebhookGate, URL: "http://ci"}
	boardGate  = rollout.Gate{Name: "board", Type: rollout.ApprovalGate, Need: 1}
)

// TestGates: a wave ends after the verdicts of its gates. A failure returns the targets, and errors pause the rollout.
func TestGates(t *testing.T) {
	three := errorsGate
	three.Count = 3
	for name, c := range map[string]struct {
		gate     rollout.Gate
		verdicts []rollout.Verdict // the last one is repeated
		phase    rollout.Phase
		content  int // targets with the change
	}{
		"good values":       {three, []rollout.Verdict{rollout.Pass}, rollout.Completed, 5},
		"a bad value":       {three, []rollout.Verdict{rollout.Pass, rollout.Fail}, rollout.RolledBack, 0},
		"errors":            {three, []rollout.Verdict{rollout.Unclear}, rollout.OnHold, 1},
		"a webhook is slow": {testsGate, []rollout.Verdict{rollout.Later, rollout.Later, rollout.Pass}, rollout.Completed, 5},
		"no verdict":        {testsGate, []rollout.Verdict{rollout.Later}, rollout.OnHold, 1},
	} {
		x := newSite(5, gated(c.gate))
		next := 0
		x.verdict = func(d rollout.Due) (rollout.Verdict, string) {
			next++
			return c.verdicts[min(next, len(c.verdicts))-1], "evidence"
		}
		x.play()
		if x.phase() != c.phase || x.count("new") != c.content {
			t.Errorf("%s: %s, %d have the change", name, x.phase(), x.count("new"))
		}
	}
}

// TestApproval: the command ends when only the operator delays the wave. The next command contains the decision. A
// decision that no gate needs has no effect.
func TestApproval(t *testing.T) {
	x := newSite(5, gated(boardGate, errorsGate))
	x.order.Strategy.Waves[0].Bake = 60
	x.verdict = func(rollout.Due) (rollout.Verdict, string) { return rollout.Pass, "" }
	ends := func(phase rollout.Phase, content, waits int) {
		t.Helper()
		began := x.now
		x.boot()
		x.play()
		if x.phase() != phase || x.count("new") != content || len(x.machine.Awaits()) != waits || x.now > began+200 {
			t.Errorf("%s, %d have the change, %d gates wait, after %d s", x.phase(), x.count("new"),
				len(x.machine.Awaits()), x.now-began)
		}
	}
	x.order.Answers = []push.Answer{{Gate: "board", Approve: true}} // before the rollout
	ends(rollout.Active, 1, 1)
	if x.now < 1060 || x.asked["board"] > 0 {
		t.Errorf("it ends at %d after %v questions", x.now, x.asked)
	}
	x.order.Answers = nil
	ends(rollout.Active, 1, 1)
	x.order.Answers = []push.Answer{{Gate: "bord", Approve: true}}
	ends(rollout.Active, 1, 1)
	for _, h := range x.hosts {
		h.away = true
	}
	x.order.Answers = nil
	ends(rollout.Active, 1, 1)
	for _, h := range x.hosts {
		h.away = false
	}
	x.order.Answers = []push.Answer{{Gate: "board", Approve: true}}
	ends(rollout.Completed, 5, 0)
	if !strings.Contains(x.kinds(), "approved advanced") || len(x.unsure) > 0 {
		t.Errorf("%s; not checked: %v", x.kinds(), x.unsure)
	}

	x = newSite(5, gated(boardGate))
	ends(rollout.Active, 1, 1)
	x.order.Answers = []push.Answer{{Gate: "board"}}
	ends(rollout.RolledBack, 0, 0)
}

// TestBakeAfterInterruption: a wave whose bake time passed during an interruption ends after a check, or not.
func TestBakeAfterInterruption(t *testing.T) {
	for _, breaks := range []bool{false, true} {
		x := newSite(5, gated())
		x.order.Strategy.Waves[0].Bake = 60
		for x.boot(); !strings.Contains(x.kinds(), "settled"); {
			x.step(nil)
		}
		x.now += 300
		for _, h := range x.hosts {
			h.breaks = breaks
		}
		x.boot()
		x.play()
		if want := map[bool]int{false: 5}[breaks]; x.count("new") != want || len(x.unsure) > 0 {
			t.Errorf("breaks: %t: %d have the change; not checked: %v", breaks, x.count("new"), x.unsure)
		}
	}
}

// TestApprovalAfterFailure: a target that failed since the command ended makes an approval void.
func TestApprovalAfterFailure(t *testing.T) {
	s := gated(boardGate)
	s.OnBreach = rollout.Pause
	x := newSite(5, s)
	x.play()
	for _, h := range x.hosts {
		h.breaks = true
	}
	x.order.Answers = []push.Answer{{Gate: "board", Approve: true}}
	x.boot()
	x.play()
	if x.phase() != rollout.OnHold || x.count("new") != 1 || strings.Contains(x.kinds(), "advanced") {
		t.Errorf("%s, %d have the change: %s", x.phase(), x.count("new"), x.kinds())
	}
}

// TestOperatorAnswers: the operator is asked once the other conditions hold, and about one gate at a time.
func TestOperatorAnswers(t *testing.T) {
	second := boardGate
	second.Name = "second"
	x := newSite(5, gated(boardGate, errorsGate, second))
	x.order.Asks = true
	x.boot()
	var asked []string
	x.verdict = func(d rollout.Due) (rollout.Verdict, string) {
		asked = append(asked, d.Gate.Name)
		return rollout.Pass, ""
	}
	x.play()
	if got := strings.Join(asked, " "); x.phase() != rollout.Completed || !strings.HasPrefix(got, "errors board second") {
		t.Errorf("%s: %s", x.phase(), got)
	}

	x = newSite(5, gated(boardGate))
	x.order.Asks = true
	x.boot()
	x.verdict = func(d rollout.Due) (rollout.Verdict, string) { return rollout.Unclear, "no terminal" }
	x.play()
	if x.phase() != rollout.Active || len(x.machine.Awaits()) != 1 || x.asked["board"] != 1 {
		t.Errorf("%s after %v questions", x.phase(), x.asked)
	}
}

// TestAdapt: a workstation does not verify users, and gets no reports.
func TestAdapt(t *testing.T) {
	board := rollout.Gate{Name: "board", Type: rollout.ApprovalGate, Need: 2, Users: []string{"ann"},
		Groups: []string{"dba"}, NotAuthor: true, Expires: 60}
	s := gated(board, errorsGate)
	got, why := push.Adapt(s)
	g := got.Waves[0].Gates[0]
	if why != "" || g.Need != 1 || len(g.Users)+len(g.Groups) > 0 || g.NotAuthor || g.Expires != 60 {
		t.Errorf("%+v %s", g, why)
	}
	if s.Waves[0].Gates[0].Need != 2 {
		t.Error("the strategy of the caller changed")
	}
	report := rollout.Gate{Name: "tests", Type: rollout.WebhookGate}
	if _, why := push.Adapt(gated(report)); !strings.Contains(why, "the gate tests of the wave first has no url") {
		t.Error(why)
	}
	report.DryRun = true
	if _, why := push.Adapt(gated(report)); why != "" {
		t.Error(why)
	}
}

// TestHistoriesOfGates plays random fleets with gates, faults, losses of contact and kills of the command.
func TestHistoriesOfGates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		verdicts := []rollout.Verdict{rollout.Pass, rollout.Pass, rollout.Pass, rollout.Later, rollout.Unclear}
		bad := rapid.IntRange(0, 3).Draw(t, "bad metric") == 0
		s := gated(rapid.SampledFrom([][]rollout.Gate{{}, {boardGate}, {errorsGate}, {boardGate, errorsGate},
			{testsGate, boardGate}}).Draw(t, "gates")...)
		for i := range s.Waves[0].Gates {
			s.Waves[0].Gates[i].ErrorLimit = 100
		}
		s.WaveTimeout, s.Waves[0].Bake = 600, rapid.Int64Range(0, 60).Draw(t, "bake")
		x := newSite(rapid.IntRange(2, 6).Draw(t, "targets"), s)
		x.order.Asks = rapid.Bool().Draw(t, "terminal")
		x.boot()
		rejects := rapid.IntRange(0, 7).Draw(t, "rejects") == 0
		x.verdict = func(d rollout.Due) (rollout.Verdict, string) {
			if bad && d.Gate.Name == errorsGate.Name || rejects && d.Gate.Name == boardGate.Name {
				return rollout.Fail, ""
			}
			if d.Gate.Name == boardGate.Name {
				return rollout.Pass, ""
			}
			return rapid.SampledFrom(verdicts).Draw(t, "verdict"), ""
		}
		x.hosts["web02"].breaks = rapid.IntRange(0, 3).Draw(t, "breaks") == 0
		x.random(t)
		for _, h := range x.hosts {
			h.away = false
		}
		approved := false
		for range 5 { // the operator answers, and continues a rollout that paused
			if waits := x.machine.Awaits(); x.phase() == rollout.OnHold || len(waits) > 0 {
				approved = approved || !rejects
				x.order.Resume, x.order.Answers = true, []push.Answer{{Gate: "board", Approve: !rejects}}
				x.boot()
				x.play()
			}
		}
		x.judge(t)
		x.judgeGates(t, approved || x.asked["board"] > 0 && !rejects, bad)
	})
}

// judgeGates checks that a wave ended only after the verdicts of its gates.
func (x *site) judgeGates(t *rapid.T, approved, bad bool) {
	advanced := strings.Contains(x.kinds(), string(rollout.Advanced))
	for _, g := range x.order.Strategy.Waves[0].Gates {
		if advanced && (g.Name == "board" && !approved || g.Name == "errors" && bad) {
			t.Fatalf("the wave ended without the gate %s: %s", g.Name, x.kinds())
		}
	}
	if len(x.unsure) > 0 {
		t.Fatalf("the wave ended before the checks of %v", x.unsure)
	}
	if r := x.machine.Rollout(); r != nil && !r.Phase.Final() && r.Phase != rollout.OnHold {
		t.Fatalf("it does not end: %s, %s", r.Phase, r.Waits())
	}
}
