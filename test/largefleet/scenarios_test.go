package largefleet

import (
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

var commits = []scenario{
	{"a good commit reaches all", func(f *simFleet) {
		careful(f)
		n := f.commit("modules/web")
		f.reaches(n, 10*time.Minute)
	}},
	{"a commit fails on 3 %", func(f *simFleet) {
		careful(f)
		f.behaves = bad(func(a *agent) outcome { return outcome{fails: f.spreads() && share(a, 3, "bad")} })
		f.breaks(f.judge.n/10 + 1)
	}},
	{"a commit fails on one release", func(f *simFleet) {
		trixie, bookworm := byRelease(f)
		f.behaves = bad(func(a *agent) outcome { return outcome{fails: a.Labels["os"] == "bookworm"} })
		f.breaks(trixie + quarter(bookworm))
	}},
	{"a commit fails after ten minutes", func(f *simFleet) {
		baked(f)
		f.behaves = bad(func(*agent) outcome { return outcome{failsIn: 10 * time.Minute} })
		f.breaks(f.judge.n / 100)
	}},
	{"a commit fails after its rollout", func(f *simFleet) {
		careful(f)
		f.behaves = bad(func(*agent) outcome { return outcome{failsIn: 20 * time.Minute} })
		n := f.commit("modules/web")
		f.reaches(n, 10*time.Minute)
		f.until(25*time.Minute, "all fail", func() bool { return f.failed() == f.judge.n })
		f.reaches(f.commit("modules/web"), 10*time.Minute)
	}},
	{"targets with a commit are silent", func(f *simFleet) {
		careful(f)
		f.behaves = bad(func(a *agent) outcome { return outcome{silent: f.spreads() && share(a, 30, "silent")} })
		n := f.commit("modules/web")
		f.until(15*time.Minute, "it stops", func() bool {
			return f.judge.had(n) > 1 && f.newest().Phase != string(rollout.Active)
		})
		if f.newest().Phase == string(rollout.Paused) { // with few targets, too few are silent for the reaction
			f.command(rollout.ToRollback)
		}
		f.until(15*time.Minute, "all return", func() bool { return f.judge.assigned(n) == 0 })
		f.bounded(n, f.judge.n/10+1)
		f.held(n)
		f.behaves = good
		f.connect(everyone)
		f.reaches(f.commit("modules/web"), 15*time.Minute)
	}},
	{"a part of the network is lost", func(f *simFleet) {
		careful(f)
		n := f.commit("modules/web")
		f.until(5*time.Minute, "a third has the change", func() bool { return f.judge.had(n) > f.judge.n/3 })
		f.disconnect(func(a *agent) bool { return share(a, 30, "network") })
		f.until(10*time.Minute, "it pauses", func() bool { return f.newest().Phase == string(rollout.Paused) })
		had := f.judge.had(n)
		time.Sleep(8 * time.Minute)
		if now := f.judge.had(n); now != had {
			f.t.Errorf("%d targets had the change when it paused, and %d later", had, now)
		}
		f.connect(everyone)
		f.command(rollout.ToResume)
		f.reaches(n, 15*time.Minute)
	}},
	{"a commit fails under the load of many", func(f *simFleet) {
		careful(f)
		f.behaves = overload
		f.breaks(f.judge.n/5 + quarter(f.judge.n))
	}},
}

// everyone selects all agents.
func everyone(*agent) bool { return true }

// badChange is the number of the bad commit. The commit 1 is the begin.
const badChange = 2

// bad returns a behaviour for targets with the bad commit.
func bad(do func(a *agent) outcome) behaviour {
	return func(_ *simFleet, a *agent) outcome {
		if a.content["modules/web"] != badChange {
			return outcome{}
		}
		return do(a)
	}
}

// spreads reports whether more than one target has the bad commit. simFleet.mu is held.
func (f *simFleet) spreads() bool { return len(f.judge.change(badChange).had) > 1 }

// overload fails on all targets with the bad commit as soon as more than a fifth of the fleet has it.
func overload(f *simFleet, a *agent) outcome {
	if a.content["modules/web"] != badChange {
		return outcome{}
	}
	var with []*agent
	for _, b := range f.order {
		if b.content["modules/web"] == badChange && b.state != document.Applying {
			with = append(with, b)
		}
	}
	if len(with) < f.judge.n/5 {
		return outcome{}
	}
	for _, b := range with {
		if b.state == document.Ready && b.newest == b.has {
			f.after(b, 3*time.Second, func(b *agent) { f.report(b, document.Failed) })
		}
	}
	return outcome{fails: true}
}

// reaches commits nothing, and judges that a change reaches all targets in time.
func (f *simFleet) reaches(n int, within time.Duration) {
	f.t.Helper()
	f.until(within, "all have the change", func() bool { return f.judge.haveAll(n) })
	f.until(time.Minute, "it is complete", func() bool { return f.newest().Phase == string(rollout.Completed) })
}

// breaks makes the bad commit, which changes all modules in the same way. It judges how many targets ever had it, that
// all of them return with all modules, that it is held, and that a correction reaches all.
func (f *simFleet) breaks(most int) {
	f.t.Helper()
	n := f.commit(moduleNames...)
	f.until(40*time.Minute, "all return", func() bool { return f.judge.had(n) > 0 && f.judge.haveAll(n-1) })
	f.bounded(n, most)
	f.held(n)
	f.reaches(f.commit("modules/web"), 30*time.Minute)
}

// bounded judges how many targets ever had a bad change.
func (f *simFleet) bounded(bad, most int) {
	f.t.Helper()
	had := f.judge.had(bad)
	f.note("%d targets had the bad change, and at most %d may", had, most)
	if had > most || had == 0 {
		f.t.Errorf("%d targets had the bad change, and at most %d may", had, most)
	}
}

// held judges that no target gets a bad change any more.
func (f *simFleet) held(bad int) {
	f.t.Helper()
	had := f.judge.had(bad)
	time.Sleep(10 * time.Minute)
	if now, has := f.judge.had(bad), f.judge.assigned(bad); now != had || has > 0 {
		f.t.Errorf("%d targets had the bad change, then %d, and %d have it", had, now, has)
	}
	if r := f.newest(); !r.Held || r.Phase != string(rollout.RolledBack) {
		f.t.Errorf("the rollout is %s, held %v", r.Phase, r.Held)
	}
}

// failed counts the targets whose last report is a failure.
func (f *simFleet) failed() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.order {
		if a.state == document.Failed {
			n++
		}
	}
	return n
}
