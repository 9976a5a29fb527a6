package coordination

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	client "fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/source"
)

const (
	lease     = time.Minute
	slotCount = 2
	lockName  = "db"
)

// largeJump is the largest jump of the clock of a hub.
const largeJump = 2 * time.Hour

// TestRunsWithLocks: of 20 hosts, at most two work at the same time, while runs, agents and hubs are killed, hosts and
// hubs are partitioned, and clocks of hubs jump.
func TestRunsWithLocks(t *testing.T) {
	histories(t, 40, func(s *site) []string { return playLocks(s) })
}

// playLocks plays a history of runs that need a slot of one lock.
func playLocks(s *site) []string {
	l := &lockHistory{site: s, stop: make(chan struct{})}
	onExpiry := coordination.Free
	if s.dice(3) == 0 {
		onExpiry = coordination.Keep
	}
	s.ordered, s.check = lockModel, true
	s.declared = func(p *process) {
		p.locks.Declare([]source.Lock{{Name: lockName, Slots: slotCount, Lease: int64(lease / time.Second),
			OnExpiry: string(onExpiry)}})
	}
	s.start()
	var all sync.WaitGroup
	for _, x := range s.hosts {
		all.Go(func() { l.runs(x) })
	}
	s.faulty.Store(true)
	for range 20 + s.dice(40) {
		time.Sleep(time.Duration(s.dice(30_000)) * time.Millisecond)
		if s.dice(3) == 0 {
			l.killRun()
		} else {
			s.fault(largeJump)
		}
	}
	s.healed()
	time.Sleep(time.Minute) // the last late requests arrive
	close(l.stop)
	all.Wait()
	l.allFree(onExpiry)
	if onExpiry == coordination.Free {
		l.lostHost()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if onExpiry == coordination.Free {
		s.operations = append(s.operations, expiries(s.operations)...)
	}
	return append(s.wrong, TooMany(l.work, slotCount)...)
}

// lockHistory contains the work of all hosts. site.mu protects work.
type lockHistory struct {
	*site
	stop chan struct{} // closed when no further run begins
	work []Interval
}

func (l *lockHistory) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// runs begins one run after another on a host.
func (l *lockHistory) runs(x *host) {
	for !l.over() {
		time.Sleep(time.Duration(l.dice(40_000)) * time.Millisecond)
		if !l.over() {
			l.oneRun(x, time.Duration(l.dice(90_000))*time.Millisecond)
		}
	}
}

// oneRun is a run that works for some time with a slot.
func (l *lockHistory) oneRun(x *host, works time.Duration) {
	r := x.begin()
	defer x.ended(r)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.processes.Go(func() { // a run that is killed waits no longer
		select {
		case <-r.killed:
			cancel()
		case <-ctx.Done():
		}
	})
	c := &client.Client{Dial: r.dial, Clock: x.sinceBoot}
	held, err := c.Acquire(ctx, []string{lockName}, func(string) {})
	if err != nil {
		l.happened("run without a slot")
		return
	}
	defer held.Release()
	x.busy.Store(true)
	from := l.at()
	select {
	case <-r.killed:
		l.happened("run was killed")
	case <-held.Lost(): // its changes are undone
		l.happened("run was stopped")
		select {
		case <-r.killed:
		case <-time.After(time.Duration(l.dice(int(lease/4/time.Millisecond))) * time.Millisecond):
		}
	case <-time.After(works):
		l.happened("run has ended")
	}
	l.mu.Lock()
	l.work = append(l.work, Interval{fmt.Sprint("web", x.i), from, l.at()})
	l.mu.Unlock()
	select {
	case <-r.killed:
	default:
		x.busy.Store(false)
	}
}

// killRun kills the run of a host that works, or of any host.
func (l *lockHistory) killRun() {
	for range 5 {
		x := l.hosts[l.dice(len(l.hosts))]
		x.state.Lock()
		r := x.run
		x.state.Unlock()
		if r != nil {
			r.kill()
			if x.busy.Load() {
				return
			}
		}
	}
}

// holders returns the owners of slots in the store.
func (l *lockHistory) holders() (out []string) {
	e, err := l.store.Get(context.Background(), "lock/"+lockName)
	if err != nil {
		return []string{err.Error()}
	}
	lock, err := records.ParseLock(e.Value)
	if err != nil {
		return []string{err.Error()}
	}
	for _, h := range lock.Holders {
		out = append(out, h.Owner)
	}
	return out
}

// allFree checks that all slots are free when no run needs them. With keep, an operator releases the slot of a host
// that got it by a request that arrived after the release.
func (l *lockHistory) allFree(onExpiry coordination.OnExpiry) {
	limit := 30 * time.Second // two looks of the agent, and lost connections
	if onExpiry == coordination.Free {
		limit = lease + coordination.Grace + 30*time.Second
	}
	l.await("the slots are free", limit, func() bool { return len(l.holders()) == 0 })
}

// await waits in virtual time.
func (s *site) await(what string, limit time.Duration, holds func() bool) {
	for end := s.at() + limit; !holds(); time.Sleep(time.Second) {
		if s.at() > end {
			s.failf("not within %s: %s", limit, what)
			return
		}
	}
}

// lostHost lets a host acquire a slot, and never return. Its slot is free after the lease, the difference of the clocks
// and the time between two looks of the leading hub.
func (l *lockHistory) lostHost() {
	x := l.hosts[l.dice(len(l.hosts))]
	done := make(chan struct{})
	l.processes.Go(func() { defer close(done); l.oneRun(x, time.Hour) })
	l.await("a host gets a slot", time.Minute, func() bool {
		return slices.Contains(l.holders(), string(x.id)) && x.busy.Load()
	})
	time.Sleep(time.Duration(l.dice(200)) * time.Second)
	x.gone.Store(true)
	x.powerCut()
	<-done
	l.await("the slot of a lost host is free", lease+coordination.Grace+20*time.Second,
		func() bool { return len(l.holders()) == 0 })
	l.happened("host was lost")
}
