package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// selection is the strategies that root contents select, by digest. Other contents select "careful".
type selection struct {
	strategy map[string]string
	lax      map[string]bool // root contents that declare strategies in which any number of members may fail
	gone     map[string]bool // root contents that declare no strategy
}

func newSelection() *selection {
	return &selection{strategy: map[string]string{}, lax: map[string]bool{}, gone: map[string]bool{}}
}

// chosen returns the lane that the head selects for a host.
func (f *fleet) chosen(h *host) string {
	if f.selects == nil {
		return ""
	}
	return rollout.LaneName(h.lane, f.strategyOf(f.branch(h.lane)["top"], h))
}

// strategyOf returns the strategy that a root content selects for a host.
func (f *fleet) strategyOf(digest string, h *host) string {
	if h.wish != "" {
		return h.wish
	}
	if s := f.selects.strategy[digest]; s != "" {
		return s
	}
	return "careful"
}

func (f *fleet) branch(name string) map[string]string {
	return map[string]map[string]string{"main": f.head, "next": f.next}[name]
}

// declares is World.Declares.
func (f *fleet) declares(lane string) bool {
	branch, _, _ := strings.Cut(lane, " ")
	return f.selects == nil || !f.selects.gone[f.branch(branch)["top"]]
}

// defined returns the strategy of a lane as a root content declares it.
func (f *fleet) defined(digest string) rollout.Strategy {
	s := f.strategy
	if f.selects != nil && f.selects.lax[digest] {
		s.MaxFailed = rollout.Amount{Number: 100, Percent: true}
	}
	return s
}

// strategies is World.Strategy: the definition of the head.
func (f *fleet) strategies(lane string, _ []rollout.Change) rollout.Strategy {
	branch, _, _ := strings.Cut(lane, " ")
	return f.defined(f.branch(branch)["top"])
}

// selects gives the root part new content, which selects a strategy.
func (f *fleet) commit(digest, strategy string, bad bool) {
	f.head["top"], f.bad[digest], f.selects.strategy[digest] = digest, bad, strategy
}

// selecting returns a fleet in which the root content t1 is complete, and selects "careful".
func selecting(t *testing.T, n int) *fleet {
	f := newFleet(t, n, rollout.Careful())
	f.selects = newSelection()
	f.until(t, "the first content", func() bool { return f.have("t1") == n && f.phase("r1").Final() })
	f.step(1)
	return f
}

// TestStrategyOfABadCommit: bad content that selects "at-once" reaches only the first target, and does not select it.
func TestStrategyOfABadCommit(t *testing.T) {
	for _, strategy := range []string{"at-once", "other"} {
		f := selecting(t, 20)
		f.commit("t2", strategy, true)
		f.step(1)
		f.restart()
		f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RolledBack })
		f.rest(60)
		if n := f.have("t2"); n > 0 || f.s.Lane("h00", "main "+strategy) != "main careful" {
			t.Errorf("%s: %d hosts have the bad content\n%s", strategy, n, f.text())
		}
		granted := strings.Count(f.text(), "r2 granted")
		if granted != 1 {
			t.Errorf("%s: %d hosts got the bad content", strategy, granted)
		}
		f.commit("t3", strategy, false)
		f.until(t, "the correction", func() bool { return f.have("t3") == 20 && f.phase("r3") == rollout.Completed })
	}
}

// TestStrategyOfAGoodCommit: later commits use the selected strategy.
func TestStrategyOfAGoodCommit(t *testing.T) {
	f := selecting(t, 20)
	f.commit("t2", "at-once", false)
	f.step(1)
	if n := f.have("t2"); n != 1 {
		t.Errorf("%d hosts have the commit that selects at-once", n)
	}
	f.until(t, "the commit", func() bool { return f.phase("r2").Final() })
	f.step(1)
	f.commit("t3", "at-once", false)
	f.step(1)
	if n := f.have("t3"); n != 20 {
		t.Errorf("%d hosts have the next commit\n%s", n, f.text())
	}
	if slices.ContainsFunc(sortedHosts(f), f.s.Known) {
		t.Errorf("a host is still in waves\n%s", f.text())
	}
	f.commit("t4", "careful", true)
	f.rest(60)
	if n := strings.Count(f.text(), "granted"); f.have("t4") > 0 || n == 0 {
		t.Errorf("a commit that selects waves does not use them\n%s", f.text())
	}
}

// TestStrategyOfAnotherCommit: a second commit does not get around the waves either, before the first one is complete.
func TestStrategyOfAnotherCommit(t *testing.T) {
	f := selecting(t, 20)
	f.commit("t2", "at-once", false)
	f.until(t, "a part of the hosts", func() bool { return f.have("t2") > 3 })
	f.commit("t3", "at-once", true)
	f.step(1)
	if n := f.have("t3"); n != 1 {
		t.Errorf("%d hosts have the second commit\n%s", n, f.text())
	}
}

// TestStrategyThatIsGone: a commit that removes its strategy is rolled out with the last declaration. A commit that
// declares it differently is rolled out with its own declaration.
func TestStrategyThatIsGone(t *testing.T) {
	f := selecting(t, 20)
	f.commit("t2", "at-once", false)
	f.selects.gone["t2"], f.selects.lax["t2"] = true, true
	f.step(1)
	f.restart()
	if got := f.s.Rollouts["r2"].Plan.Strategy; got.MaxFailed.Number != 0 || len(got.Waves) != 3 {
		t.Errorf("%+v", got)
	}
	f.commit("t3", "at-once", false)
	f.selects.lax["t3"] = true
	f.step(1)
	if got := f.s.Rollouts["r3"].Plan.Strategy; got.MaxFailed.Number != 100 {
		t.Errorf("%+v", got)
	}
}

// TestAbortedSelection: content that was aborted does not select a strategy for the hosts that keep it.
func TestAbortedSelection(t *testing.T) {
	f := selecting(t, 20)
	f.commit("t2", "at-once", false)
	f.until(t, "a part of the hosts", func() bool { return f.have("t2") > 3 })
	f.command(t, rollout.ToAbort, "")
	f.rest(60)
	f.commit("t3", "at-once", false)
	f.step(1)
	if n := f.have("t3"); n != 1 {
		t.Errorf("%d hosts have the next commit\n%s", n, f.text())
	}
}

// TestLaneOfAHost: hosts move with their labels and their branch, and leave.
func TestLaneOfAHost(t *testing.T) {
	f := selecting(t, 4)
	f.hosts["h00"].wish = "at-once"
	f.hosts["h01"].lane = "next"
	delete(f.hosts, "h02")
	f.rest(2)
	for id, lane := range map[rollout.ID]string{"h00": "", "h01": "next careful", "h03": "main careful"} {
		if got := f.world().Targets[id].Lane; got != lane {
			t.Errorf("%s has the lane %q", id, got)
		}
	}
	for id, known := range map[rollout.ID]bool{"h00": false, "h01": true, "h02": false, "h03": true} {
		if f.s.Known(id) != known {
			t.Errorf("%s is recorded: %t", id, !known)
		}
	}
}

// TestDefinitionIsStored: a definition has everything of its strategy.
func TestDefinitionIsStored(t *testing.T) {
	f := newFleet(t, 3, rollout.Careful())
	f.selects = newSelection()
	f.strategy.Waves[0].Selected = map[rollout.ID]bool{"h01": true}
	f.strategy.Waves[0].Gates = []rollout.Gate{{Name: "board", Type: rollout.ApprovalGate, Need: 1}}
	f.until(t, "the first content", func() bool { f.consents(); return f.phase("r1").Final() })
	f.step(1)
	f.restart()
	f.strategy = rollout.AtOnce()
	f.strategy.MaxFailed = rollout.Amount{}
	f.head["top"], f.selects.gone["t2"] = "t2", true
	f.step(1)
	w := f.s.Rollouts["r2"].Plan.Waves[0]
	if !w.Selected || !slices.Equal(w.Members, []rollout.ID{"h01"}) || len(w.Gates) != 1 {
		t.Errorf("%+v", w)
	}
}
