package largefleet

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

var hubFailures = []scenario{
	{"the leader is killed in each phase of a good commit", func(f *simFleet) {
		careful(f)
		f.startAll(2)
		n := f.commit("modules/web")
		early := f.judge.n / 10
		for _, had := range []int{1, 2, early / 2, 1 + early, 2 + early, f.judge.n / 2, f.judge.n - 1} {
			f.until(10*time.Minute, fmt.Sprintf("%d targets have the change", had), func() bool { return f.judge.had(n) >= had })
			f.replace()
		}
		f.until(10*time.Minute, "all have it", func() bool { return f.judge.had(n) == f.judge.n })
		f.replace()
		f.reaches(n, 10*time.Minute)
	}},
	{"the leader is killed while it writes", func(f *simFleet) {
		careful(f)
		f.startAll(2)
		n := f.commit("modules/web")
		for k := range 8 {
			h := f.leads()
			h.process.dieAt.Store(h.process.writes.Load() + int64(1+k%3))
			if !f.until(10*time.Minute, "the leader died", h.process.dead.Load) {
				return
			}
			f.startAll(2)
		}
		f.reaches(n, 15*time.Minute)
	}},
	{"the leader is killed in each phase of a bad commit", func(f *simFleet) {
		careful(f)
		f.startAll(2)
		f.behaves = bad(func(a *agent) outcome { return outcome{fails: f.spreads() && share(a, 3, "bad")} })
		n := f.commit("modules/web")
		f.until(10*time.Minute, "the change fails", func() bool { return f.failed() > 0 })
		f.replace()
		for k := range 3 {
			f.until(10*time.Minute, "it returns", func() bool {
				return f.newest().Phase == string(rollout.RollingBack) ||
					f.newest().Phase == string(rollout.RolledBack)
			})
			h := f.leads()
			h.process.dieAt.Store(h.process.writes.Load() + int64(1+k))
			time.Sleep(5 * time.Second)
			f.replace()
		}
		f.until(10*time.Minute, "all return", func() bool { return f.judge.haveAll(n - 1) })
		f.bounded(n, 1+f.judge.n/10)
		f.held(n)
	}},
	{"the leader cannot reach the storage", func(f *simFleet) {
		careful(f)
		f.startAll(2)
		n := f.commit("modules/web")
		f.until(10*time.Minute, "a third has the change", func() bool { return f.judge.had(n) > f.judge.n/3 })
		cut := f.leads()
		cut.process.cut.Store(true)
		f.until(3*time.Minute, "another hub leads", func() bool { h := f.leads(); return h != nil && h != cut })
		time.Sleep(10 * time.Second)
		cut.process.cut.Store(false)
		f.reaches(n, 15*time.Minute)
	}},
	{"the clock of the leader jumps ahead", func(f *simFleet) { clockJumps(f, time.Hour) }},
	{"the clock of the leader jumps back", func(f *simFleet) { clockJumps(f, -time.Hour) }},
	{"many commits in an hour", func(f *simFleet) {
		careful(f)
		f.judge.waves = nil // each commit replaces the one before
		most := 200
		if f.judge.n < 5000 {
			most = 30
		}
		n := 0
		for i := range most {
			n = f.commit(moduleNames[i%2])
			time.Sleep(18 * time.Second)
		}
		f.reaches(n, 20*time.Minute)
		entries := 0
		f.watch.Rollouts.Each(func(string, records.StoredRollouts, uint64) { entries++ })
		f.note("the log of rollouts has %d entries", entries)
		if entries > 600 {
			f.t.Errorf("the log of rollouts has %d entries", entries)
		}
	}},
}

// clockJumps judges a rollout during which the clock of the leader jumps twice: while targets apply the change, and
// during the bake time. No target fails or is silent because of it, and no wave begins too early.
func clockJumps(f *simFleet, by time.Duration) {
	baked(f)
	n := f.commit("modules/web")
	f.until(time.Minute, "the first wave has the change", func() bool { return f.judge.had(n) >= f.judge.n/100 })
	h := f.leads()
	h.skew.Store(int64(by))
	f.until(5*time.Minute, "it bakes", func() bool { return f.judge.have(n) >= f.judge.n/100 })
	time.Sleep(5 * time.Minute)
	h.skew.Store(0)
	f.until(20*time.Minute, "half have it", func() bool { return f.judge.had(n) > f.judge.n/2 })
	h.skew.Store(int64(by))
	f.reaches(n, 15*time.Minute)
}

// replace kills the leader, and starts another hub.
func (f *simFleet) replace() {
	if h := f.leads(); h != nil {
		h.end()
	}
	f.startAll(2)
}
