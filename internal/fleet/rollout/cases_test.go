package rollout_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// cases are what other tools got wrong with rollouts: each name is that of a public bug report.
var cases = map[string]func(t *testing.T, f *fleet){
	"one-dead-target":      oneDeadTarget,
	"old-status":           oldStatus,
	"old-soak":             oldSoak,
	"membership":           membership,
	"complete-at-zero":     completeAtZero,
	"bad-head":             badHead,
	"retry-failed":         retryFailed,
	"pause-one":            pauseOne,
	"soak-restart":         soakRestart,
	"thundering-return":    thunderingReturn,
	"rollback-of-rollback": rollbackOfRollback,
	"window-late":          windowLate,
	"silence":              silence,
	"silence-of-all":       silenceOfAll,
}

func TestCases(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := begun(t, 20)
			f.tell = t.Errorf
			f.head["web"] = "w2"
			c(t, f)
		})
	}
}

// rest steps for some seconds.
func (f *fleet) rest(seconds int64) {
	for end := f.now + seconds; f.now < end; {
		f.step(1)
	}
}

// first returns the member of the first wave of the second rollout.
func (f *fleet) first() *host { return f.hosts[f.s.Rollouts["r2"].Plan.Waves[0].Members[0]] }

// last returns a member of its last wave.
func (f *fleet) last() *host { return f.hosts[f.s.Rollouts["r2"].Plan.Waves[2].Members[0]] }

// command orders something for the second rollout.
func (f *fleet) command(t *testing.T, a rollout.Action, id rollout.ID) {
	t.Helper()
	log, err := f.s.Order(rollout.Command{Action: a, Rollout: "r2", Target: id, By: "jane", Why: "a test"}, f.now)
	if err != nil {
		t.Error(err)
	}
	f.log = append(f.log, log...)
}

// A target that is offline before its grant is deferred. It gets the change when it is back.
func oneDeadTarget(t *testing.T, f *fleet) {
	f.step(1)
	last := f.last()
	last.online = false
	f.until(t, "the end", func() bool { return f.phase("r2").Final() })
	if f.phase("r2") != rollout.WithExceptions {
		t.Error(f.text())
	}
	last.online = true
	f.until(t, "the last", func() bool { return f.have("w2") == 20 && last.health == rollout.Healthy })
}

// The health of an earlier assignment is no information about the granted one.
func oldStatus(t *testing.T, f *fleet) {
	f.takes = 100
	f.step(1)
	if f.first().health = rollout.Unknown; f.have("w2") != 1 {
		t.Error(f.text())
	}
	f.rest(90)
	if n := f.have("w2"); n != 1 {
		t.Errorf("%d hosts have the change before the first one is ready", n)
	}
}

// A member must be ready without interruption since it has the change, not since before.
func oldSoak(t *testing.T, f *fleet) {
	f.rest(5)
	if n := f.have("w2"); n != 1 {
		t.Errorf("%d hosts have the change after 5 s, and a member must be ready for 10 s", n)
	}
}

// Targets that join, leave or change their labels do not stop a rollout.
func membership(t *testing.T, f *fleet) {
	f.step(1)
	f.add("n1")
	delete(f.hosts, f.s.Rollouts["r2"].Plan.Waves[2].Members[3])
	f.rest(3)
	f.add("n2")
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed && f.have("w2") == 21 })
}

// A rollout in which no member is ready is never complete.
func completeAtZero(t *testing.T, f *fleet) {
	for _, h := range f.hosts {
		h.online = false
	}
	f.rest(100)
	if p := f.phase("r2"); p != "" || !f.s.Waits(f.world()) {
		t.Errorf("without a target in reach, the rollout is %s\n%s", p, f.text())
	}
	for _, h := range f.hosts {
		h.online, h.broken = true, true
		h.health = rollout.Broken
	}
	for range 5 {
		f.until(t, "the pause", func() bool { return f.phase("r2") == rollout.OnHold })
		f.command(t, rollout.ToResume, "")
		f.step(1)
	}
	if f.phase("r2").Final() || f.have("w2") == 0 {
		t.Errorf("the rollout is %s\n%s", f.phase("r2"), f.text())
	}
}

// TestFirstIsAway: a member without contact does not keep the others from the change: another one is the first. If no
// other one is there, the wave waits, and needs no operator.
func TestFirstIsAway(t *testing.T) {
	f := begun(t, 10)
	for _, id := range sortedHosts(f)[1:] {
		f.hosts[id].online = false
	}
	f.head["web"] = "w2"
	f.step(1)
	if h := f.hosts["h00"]; h.parts["web"] != "w2" {
		t.Fatalf("the host with contact is not the first\n%s", f.text())
	}
	f.rest(300)
	if p := f.phase("r2"); p != rollout.Active {
		t.Errorf("the rollout is %s\n%s", p, f.text())
	}
	for _, id := range sortedHosts(f)[:6] {
		f.hosts[id].online = true
	}
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.WithExceptions })
	if f.s.Waits(f.world()) {
		t.Error("another rollout waits")
	}
}

// TestSelectedIsAway: a wave with selected members waits for them.
func TestSelectedIsAway(t *testing.T) {
	f := begun(t, 10)
	f.strategy.Waves[0].Selected = map[rollout.ID]bool{"h03": true}
	f.hosts["h03"].online = false
	f.head["web"] = "w2"
	f.rest(300)
	if f.have("w2") != 0 || f.phase("r2") != rollout.Active {
		t.Errorf("the rollout is %s\n%s", f.phase("r2"), f.text())
	}
	f.hosts["h03"].online = true
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
}

// After a rollback, the same content is not rolled out again until an operator releases it.
func badHead(t *testing.T, f *fleet) {
	f.bad["w2"] = true
	f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RolledBack })
	f.bad["w2"] = false
	f.rest(1_000)
	if _, why := f.s.Allowed("h01", "main", rollout.Change{Part: "web", Digest: "w2"}); f.have("w2") > 0 ||
		!strings.HasPrefix(why, "held") {
		t.Errorf("%s\n%s", why, f.text())
	}
	f.command(t, rollout.ToRelease, "")
	f.until(t, "the released content", func() bool { return f.have("w2") == 20 })
}

// An operator grants a failed member again, with the same waves.
func retryFailed(t *testing.T, f *fleet) {
	f.strategy.OnBreach = rollout.Pause
	f.bad["w2"] = true
	f.until(t, "the breach", func() bool { return f.phase("r2") == rollout.OnHold })
	f.bad["w2"] = false
	f.command(t, rollout.ToRetry, f.s.Rollouts["r2"].Plan.Waves[0].Members[0])
	f.command(t, rollout.ToResume, "")
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed && f.have("w2") == 20 })
}

// An operator excludes one target from one change.
func pauseOne(t *testing.T, f *fleet) {
	f.step(1)
	id := f.s.Rollouts["r2"].Plan.Waves[2].Members[0]
	f.command(t, rollout.ToSkip, id)
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.WithExceptions })
	f.rest(1000)
	if f.have("w2") != 19 || f.hosts[id].parts["web"] != "w1" {
		t.Error(f.text())
	}
	f.command(t, rollout.ToRetry, id)
	f.until(t, "the last", func() bool { return f.have("w2") == 20 })
}

// A restart of the hub does not begin timers again.
func soakRestart(t *testing.T, f *fleet) {
	f.strategy.Waves[0].Bake = 600
	f.rest(300)
	f.restart()
	f.rest(330)
	if f.have("w2") == 1 {
		t.Error(f.text())
	}
}

// While a hub does not know the state of its targets yet, there are no grants and no verdicts.
func thunderingReturn(t *testing.T, f *fleet) {
	f.step(1)
	f.restart()
	f.resync = true
	for _, h := range f.hosts {
		h.online, h.health = false, rollout.Broken
	}
	n := len(f.log)
	f.rest(1_000)
	if len(f.log) != n {
		t.Error(f.text())
	}
}

// A rollback that fails on a target ends.
func rollbackOfRollback(t *testing.T, f *fleet) {
	f.bad["w2"], f.bad["w1"] = true, true
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	n := len(f.log)
	f.rest(1_000)
	if len(f.log) != n {
		t.Error(f.text())
	}
}

// A target that must not be changed now gets no grant, and stops the rollout for at most the timeout of a wave.
func windowLate(t *testing.T, f *fleet) {
	f.strategy.WaveTimeout = 3600
	f.step(1)
	last := f.last()
	last.hold = "a window"
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.WithExceptions })
	if last.parts["web"] != "w1" || f.now < f.strategy.WaveTimeout {
		t.Error(f.text())
	}
	last.hold = ""
	f.until(t, "the last", func() bool { return f.have("w2") == 20 })
}

// Members that lose contact after the change are a symptom of the change.
func silence(t *testing.T, f *fleet) {
	f.step(1)
	f.first().online = false
	f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RolledBack })
}

// If the other targets lose contact as well, the network is the probable cause: the rollout pauses.
func silenceOfAll(t *testing.T, f *fleet) {
	f.step(1)
	for _, h := range f.hosts {
		h.online = false
	}
	f.until(t, "the pause", func() bool { return f.phase("r2") == rollout.OnHold })
}
