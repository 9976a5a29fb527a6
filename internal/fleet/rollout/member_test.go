package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// slow returns a fleet whose hosts need a time for the second content, with the first of them granted.
func slow(t *testing.T, seconds int64) *fleet {
	f := begun(t, 10)
	f.takes = seconds
	f.head["web"] = "w2"
	f.step(1)
	return f
}

func TestProgressDeadline(t *testing.T) {
	f := slow(t, 1_000_000)
	f.rest(f.strategy.ProgressDeadline - 10)
	if f.phase("r2") != rollout.Active {
		t.Error(f.text())
	}
	f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RollingBack })
}

// TestNoReport: a target with contact that never reports about its assignment failed.
func TestNoReport(t *testing.T) {
	f := slow(t, 1)
	for range f.strategy.ProgressDeadline + 10 {
		if f.phase("r2") != rollout.Active {
			return
		}
		f.first().health = rollout.Unknown
		f.s.Decide(f.world(), f.now)
		f.now++
		f.first().contact = f.now
	}
	t.Error(f.text())
}

// TestBlocked: a target that waits for another module has not failed.
func TestBlocked(t *testing.T) {
	f := slow(t, 1_000_000)
	for range 10 {
		f.first().health, f.first().since = rollout.Blocked, f.now
		f.rest(f.strategy.ProgressDeadline)
	}
	if f.phase("r2") != rollout.Active {
		t.Error(f.text())
	}
}

// TestRegression: a member that fails during the bake time stops the rollout.
func TestRegression(t *testing.T) {
	f := begun(t, 10)
	f.strategy.Waves[0].Bake = 600
	f.head["web"] = "w2"
	f.rest(100)
	f.bad["w2"] = true
	f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RolledBack })
	if f.have("w2") != 0 || f.have("w1") != 10 {
		t.Error(f.text())
	}
}

// TestJoinersLater: a target that begins to need the content during the last wave waits for the end.
func TestJoinersLater(t *testing.T) {
	f := begun(t, 10)
	f.head["web"] = "w2"
	f.until(t, "the last wave", func() bool { r := f.s.Rollouts["r2"]; return r != nil && r.Wave == len(r.Plan.Waves)-1 })
	f.add("n1")
	f.step(1)
	if f.s.Rollouts["r2"].Members["n1"] != nil || f.hosts["n1"].parts["web"] != "" || f.phase("r3") != "" {
		t.Error(f.text())
	}
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
	f.until(t, "the content", func() bool { return f.hosts["n1"].parts["web"] == "w2" })
	if f.phase("r3") != "" {
		t.Error("the new target has a rollout of its own")
	}
}

// TestJoiners: a target that begins to need the content early belongs to the last wave.
func TestJoiners(t *testing.T) {
	f := begun(t, 10)
	f.head["web"] = "w2"
	f.step(1)
	f.add("n1")
	f.step(1)
	r := f.s.Rollouts["r2"]
	if m := r.Members["n1"]; m == nil || m.Wave != len(r.Plan.Waves)-1 {
		t.Error(f.text())
	}
}

// TestRemoval: a part that leaves the configuration is a rollout, each time.
func TestRemoval(t *testing.T) {
	f := begun(t, 5)
	for range 2 {
		f.head["db"] = "d1"
		f.until(t, "the part", func() bool { return f.have("d1") == 5 && len(f.s.Open()) == 0 })
		delete(f.head, "db")
		f.step(1)
		if n := f.have("d1"); n != 4 {
			t.Errorf("%d of 5 hosts have the part in the first second\n%s", n, f.text())
		}
		f.until(t, "its removal", func() bool { return f.have("d1") == 0 && len(f.s.Open()) == 0 })
	}
}

// TestRetiredInRollback: a target that leaves the fleet does not keep a rollback open.
func TestRetiredInRollback(t *testing.T) {
	f := slow(t, 20)
	f.rest(5)
	f.command(t, rollout.ToRollback, "")
	for id, h := range f.hosts {
		if h == f.first() {
			delete(f.hosts, id)
			break
		}
	}
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
}

// TestSkippedFirst: without its only member, the first wave proves nothing, so an operator decides.
func TestSkippedFirst(t *testing.T) {
	f := slow(t, 5)
	f.command(t, rollout.ToSkip, f.s.Rollouts["r2"].Plan.Waves[0].Members[0])
	f.rest(100)
	if f.phase("r2") != rollout.OnHold || f.have("w2") != 1 {
		t.Error(f.text())
	}
	f.command(t, rollout.ToResume, "")
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.WithExceptions })
}

// TestSilentMemberReturns: within the tolerance, a silent member does not stop the rollout, and is judged again.
func TestSilentMemberReturns(t *testing.T) {
	f := begun(t, 20)
	f.strategy.MaxSilent, f.strategy.MinReady = rollout.Amount{Number: 1}, rollout.Amount{Number: 50, Percent: true}
	f.head["web"] = "w2"
	f.until(t, "the last wave", func() bool { r := f.s.Rollouts["r2"]; return r != nil && r.Wave == 2 })
	rest := f.s.Rollouts["r2"].Plan.Waves[2].Members
	last, other := f.last(), f.hosts[rest[len(rest)-1]]
	last.online, other.hold = false, "it keeps the wave open"
	f.until(t, "its silence", func() bool { return f.said(rollout.Silent) == 1 })
	f.step(1)
	last.online, other.hold = true, ""
	last.health, last.ends = rollout.Applying, f.now+50
	f.until(t, "its return", func() bool { return f.said(rollout.Recovered) == 1 })
	if last.health == rollout.Healthy {
		t.Errorf("the silent member is judged again only after it is ready\n%s", f.text())
	}
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// TestFailedMemberRecovers: a member that failed and is ready later counts as ready.
func TestFailedMemberRecovers(t *testing.T) {
	f := begun(t, 20)
	f.strategy.OnBreach = rollout.Pause
	f.head["web"], f.bad["w2"] = "w2", true
	f.until(t, "the breach", func() bool { return f.phase("r2") == rollout.OnHold })
	f.bad["w2"] = false
	f.rest(60)
	if f.said(rollout.Recovered) != 1 || f.said(rollout.Ready) != 21 {
		t.Error(f.text())
	}
}

// said returns the number of events of a kind.
func (f *fleet) said(k rollout.Kind) (n int) {
	for _, e := range f.log {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// TestLanes: a bad content on one branch stops only the rollout of this branch, and a target that changes its
// branch keeps its content until a rollout of the new branch grants it a change.
func TestLanes(t *testing.T) {
	f := begun(t, 10)
	f.hosts["h03"].lane = "next"
	f.until(t, "the other branch", func() bool { return f.hosts["h03"].parts["top"] == "next1" && len(f.s.Open()) == 0 })
	f.next["web"], f.bad["wn"] = "wn", true
	f.head["web"] = "w2"
	f.until(t, "both ends", func() bool {
		return f.have("w2") == 9 && f.said(rollout.Returned) == 1 &&
			len(f.s.Open()) == 0
	})
	if f.hosts["h03"].parts["web"] != "w1" {
		t.Error(f.text())
	}
	f.hosts["h03"].lane = "main"
	f.until(t, "the first branch", func() bool { return f.have("w2") == 10 })
}

// TestLost: hosts that failed for another reason do not stop a rollout, and get the change without
// waiting for each other. A failure after they were ready counts.
func TestLost(t *testing.T) {
	f := begun(t, 10)
	lost := sortedHosts(f)[:4]
	breaks := func(broken bool) {
		for _, id := range lost {
			f.hosts[id].broken = broken
		}
		f.rest(20)
	}
	breaks(true)
	f.head["web"] = "w2"
	f.until(t, "the last wave", func() bool { r := f.s.Rollouts["r2"]; return r != nil && r.Wave == len(r.Plan.Waves)-1 })
	f.step(1)
	for _, id := range lost {
		if m := f.s.Rollouts["r2"].Members[id]; m.Granted == 0 || !m.Lost {
			t.Errorf("%s: %+v", id, m)
		}
	}
	f.until(t, "the result", func() bool { return f.phase("r2").Final() })
	if f.phase("r2") != rollout.WithExceptions || f.have("w2") != 10 {
		t.Error(f.text())
	}
	breaks(false)
	f.head["web"] = "w3"
	f.until(t, "a good rollout", func() bool { return f.phase("r3") == rollout.Completed })
	breaks(true)
	f.head["web"] = "w4"
	f.until(t, "the result", func() bool { return f.phase("r4").Final() })
}

// TestAllLost: a correction for hosts that all failed reaches them in waves, and ends.
func TestAllLost(t *testing.T) {
	f := begun(t, 10)
	for _, h := range f.hosts {
		h.broken = true
	}
	f.rest(10)
	f.head["web"] = "w2"
	f.until(t, "the pause", func() bool { return f.phase("r2") == rollout.OnHold })
	if n := f.have("w2"); n != 1 {
		t.Errorf("%d hosts have a change that corrects nothing", n)
	}
	f.head["web"] = "w3"
	f.step(1)
	for _, h := range f.hosts {
		h.broken = false
	}
	f.until(t, "the correction", func() bool { return f.phase("r3") == rollout.Completed })
}

// TestAllSilent: if each target has the change, there are no others whose silence would point to the network.
func TestAllSilent(t *testing.T) {
	f := begun(t, 5)
	f.strategy = rollout.AtOnce()
	f.strategy.MaxSilent, f.strategy.OnBreach = rollout.Amount{}, rollout.Rollback
	f.head["web"] = "w2"
	f.step(1)
	for _, h := range f.hosts {
		h.online = false
	}
	f.until(t, "the reaction", func() bool { return f.phase("r2") != rollout.Active })
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	if f.have("w1") != 5 {
		t.Errorf("the silent targets keep the change\n%s", f.text())
	}
}

// TestWaveTimeout: the timeout of a wave is not a limit for members that are being applied.
func TestWaveTimeout(t *testing.T) {
	f := begun(t, 10)
	f.takes, f.strategy.WaveTimeout = 500, 100
	f.head["web"] = "w2"
	f.rest(400)
	if f.phase("r2") != rollout.Active {
		t.Error(f.text())
	}
}

// TestSilenceMargin: if the share of silent members is only 10 percent higher than that of the others, it is no
// proof. 1 of 10 is not enough, 1 of 9 is.
func TestSilenceMargin(t *testing.T) {
	for members, want := range map[int]rollout.Phase{10: rollout.OnHold, 9: rollout.RolledBack} {
		f := begun(t, 20)
		f.strategy.Waves[0].Size = rollout.Amount{Number: members}
		f.strategy.Waves[0].MaxUnavailable, f.strategy.MaxSilent = f.strategy.Waves[0].Size, rollout.Amount{}
		f.head["web"] = "w2"
		f.step(1)
		f.first().online = false
		f.until(t, "the reaction", func() bool { return f.said(rollout.Breached) > 0 })
		if got := f.phase("r2"); got != want && got != rollout.RollingBack {
			t.Errorf("1 of %d is silent: %s\n%s", members, got, f.text())
		}
	}
}

// TestReturnedIsFree: a rollback keeps the content of a member only until this member has returned.
func TestReturnedIsFree(t *testing.T) {
	f := begun(t, 10)
	f.strategy.Waves[0].Size, f.strategy.Waves[0].MaxUnavailable = rollout.Amount{Number: 2}, rollout.Amount{Number: 2}
	f.head["web"] = "w2"
	f.step(1)
	both := f.s.Rollouts["r2"].Plan.Waves[0].Members
	f.hosts[both[1]].online = false
	f.command(t, rollout.ToRollback, "")
	f.until(t, "the first return", func() bool { return f.said(rollout.Returned) == 1 })
	if a, b := f.s.Returns(both[0]), f.s.Returns(both[1]); a != nil || len(b) != 1 || b[0].Digest != "w1" {
		t.Errorf("the returned member: %v, the other one: %v", a, b)
	}
}

// TestOnlyFailed: a rollout whose members all failed still needs a decision of an operator.
func TestOnlyFailed(t *testing.T) {
	f := begun(t, 1)
	f.strategy.OnBreach = rollout.Pause
	f.head["web"], f.bad["w2"] = "w2", true
	f.rest(100)
	if f.phase("r2") != rollout.OnHold {
		t.Error(f.text())
	}
}

// TestAdoption: a fleet had its content before it used rollouts. A new target gets it at once, and its failure stops
// nothing.
func TestAdoption(t *testing.T) {
	f := newFleet(t, 5, rollout.Careful())
	for _, h := range f.hosts {
		h.parts, h.fresh = map[string]string{"web": "w1", "top": "t1"}, false
	}
	f.rest(20)
	if len(f.log) > 0 {
		t.Errorf("without a change, there is\n%s", f.text())
	}
	f.add("n1")
	f.hosts["n1"].broken = true
	f.step(20)
	f.add("n2")
	f.step(1)
	if f.hosts["n1"].parts["web"] != "w1" || f.hosts["n2"].parts["web"] != "w1" || len(f.s.Rollouts) != 1 {
		t.Errorf("the new targets do not have the content\n%s", f.text())
	}
	f.head["web"] = "w2"
	f.until(t, "a rollout", func() bool { return f.phase("r2").Final() && f.have("w2") == 7 })
}
