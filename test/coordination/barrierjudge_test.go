package coordination

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// generation is a generation in the store: the run of each target that passed.
type generation struct {
	at    time.Duration
	runs  map[string]string
	count uint64
}

// watch records the generations in the store, until end is called.
func (b *barrierHistory) watch() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	b.processes.Go(func() {
		_ = b.store.Watch(ctx, func(e fleet.Entry) {
			if e.Key != "barrier/"+barrierName || e.Gone {
				return
			}
			s, err := records.ParseBarrier(e.Value)
			b.mu.Lock()
			defer b.mu.Unlock()
			n := uint64(len(b.opened))
			if err != nil || s.State.Generation > n+1 || s.State.Generation < n {
				b.wrong = append(b.wrong, fmt.Sprintf("generation %d follows %d: %v", s.State.Generation, n, err))
				return
			}
			if s.State.Generation == n {
				return
			}
			g := generation{at: b.at(), runs: map[string]string{}, count: n + 1}
			for _, p := range s.State.Passes {
				if p.Generation == n+1 {
					g.runs[p.Target] = p.Run
				}
			}
			b.opened = append(b.opened, g)
		}, func() {})
	})
	return cancel
}

// judge compares the generations with the waits of the hosts. It uses the true time, and no code of barriers.
func (b *barrierHistory) judge() (wrong []string) {
	failf := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	byRun := map[string]*waited{}
	for _, w := range b.waits {
		byRun[w.run] = w
	}
	passed := map[string]uint64{}
	for _, g := range b.opened {
		here := map[int]bool{}
		for _, run := range g.runs {
			w := byRun[run]
			if was, again := passed[run]; w == nil || again {
				failf("generation %d at %s has the run %s of no host, or that passed %d", g.count, g.at, run, was)
				continue
			}
			passed[run], here[w.host] = g.count, true
			switch {
			case w.from > g.at:
				failf("generation %d opened at %s, and web%d waits since %s", g.count, g.at, w.host, w.from)
			case w.to > 0 && b.ended(w, g.at):
				failf("generation %d opened at %s, and web%d no longer waited at %s", g.count, g.at, w.host, w.to)
			case w.generation == 0 && w.withdrawn:
				failf("web%d was told that it does not pass, and generation %d opened at %s with it", w.host, g.count, g.at)
			case w.generation != g.count && (w.generation > 0 || !w.killed && w.withdrawn):
				failf("web%d passed %d, and the hubs stored %d", w.host, w.generation, g.count)
			}
		}
		for i := range b.hosts {
			if gone, is := b.gone[i]; b.quorum == 0 && !here[i] && (!is || gone > g.at) {
				failf("generation %d opened at %s without web%d", g.count, g.at, i)
			}
		}
		if len(here) < b.quorum || len(here) == 0 {
			failf("generation %d opened at %s with %d of %d members", g.count, g.at, len(here), b.quorum)
		}
		b.count["generation opened"]++
	}
	for _, w := range b.waits {
		if w.generation > 0 && passed[w.run] != w.generation {
			failf("web%d passed %d at %s, and the hubs stored %d", w.host, w.generation, w.to, passed[w.run])
		}
	}
	return wrong
}

// steady is a time up to which a hub ran without a fault since another time.
type steady struct{ since, at time.Duration }

// watchHubs records how long a hub has run without a fault, until end is called.
func (b *barrierHistory) watchHubs() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	b.processes.Go(func() {
		since := make([]time.Duration, len(b.hubs))
		for ; ctx.Err() == nil; wait(ctx, 5*time.Second) {
			b.mu.Lock()
			for i, h := range b.hubs {
				if h.serving() == nil || h.cut.Load() {
					since[i] = b.at()
				}
				b.steady = append(b.steady, steady{since[i], b.at()})
			}
			b.mu.Unlock()
		}
	})
	return cancel
}

// ended reports whether the arrival of a wait must have ended at a time: some hub ran without a fault for long enough
// after the last request of the wait could arrive. It has seen the arrival for its time then, although reads that are
// outdated delay this.
func (b *barrierHistory) ended(w *waited, at time.Duration) bool {
	const long = barrier.ArrivalTime + 2*time.Minute
	return slices.ContainsFunc(b.steady, func(s steady) bool {
		return s.at <= at && s.at-max(s.since, w.to+lateBy) >= long
	})
}
