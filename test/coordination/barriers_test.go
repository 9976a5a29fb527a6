package coordination

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/check"
)

const (
	memberCount = 6 // of the barrier
	barrierName = "schema"
)

// TestHostsAtABarrier: a barrier opens only if enough members wait, and each member continues with its generation,
// while runs, agents and hubs are killed, hosts and hubs are partitioned, and clocks of hubs jump.
func TestHostsAtABarrier(t *testing.T) {
	histories(t, 40, func(s *site) []string { return playBarrier(s) })
}

// barrierHistory contains the waits of all hosts. site.mu protects waits and opened.
type barrierHistory struct {
	*site
	quorum int // 0: all
	stop   chan struct{}
	waits  []*waited
	opened []generation
	steady []steady
	gone   map[int]time.Duration // members that were retired
}

// waited is one execution of a step. mu of the site protects its fields.
type waited struct {
	host       int
	from, to   time.Duration
	run        string // as hubs know it
	generation uint64 // 0: the barrier did not open for it, as far as it knows
	killed     bool
	withdrawn  bool          // a hub answered its withdrawal
	heard      time.Duration // the last answer, only for the goroutine of the wait
}

func playBarrier(s *site) []string {
	b := &barrierHistory{site: s, quorum: []int{0, 0, 3, memberCount}[s.dice(4)], stop: make(chan struct{}),
		gone: map[int]time.Duration{}}
	d := query.Barrier{Name: barrierName, Quorum: "all"}
	if b.quorum > 0 {
		d.Quorum = fmt.Sprint(b.quorum)
	}
	for i := range memberCount {
		d.Members = append(d.Members, fmt.Sprint("web", i))
	}
	s.declared = func(p *process) { p.waits.Declare(query.Coordination{Barriers: []query.Barrier{d}}) }
	s.hosts = s.hosts[:memberCount]
	s.ordered, s.check = barrierModel(cmp.Or(b.quorum, memberCount)), true
	s.start()
	watched, seen := b.watch(), b.watchHubs()
	var all sync.WaitGroup
	for _, x := range s.hosts {
		all.Go(func() { b.runs(x) })
	}
	s.faulty.Store(true)
	for range 20 + s.dice(40) {
		time.Sleep(time.Duration(s.dice(20_000)) * time.Millisecond)
		switch s.dice(4) {
		case 0:
			b.killRun()
		default:
			s.fault(largeJump)
		}
	}
	s.healed()
	close(b.stop)
	all.Wait()
	time.Sleep(time.Minute) // the last late requests arrive
	b.sealed.Store(true)
	b.shrinks()
	watched()
	seen()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(s.wrong, b.judge()...)
}

// runs begins one wait after another on a host.
func (b *barrierHistory) runs(x *host) {
	for {
		select {
		case <-b.stop:
			return
		case <-time.After(time.Duration(b.dice(60_000)) * time.Millisecond):
			b.wait(x, time.Duration(20+b.dice(300))*time.Second)
		}
	}
}

// wait is the execution of a step WAIT on a host.
func (b *barrierHistory) wait(x *host, limit time.Duration) *waited {
	list, ds := step.Parse("x.steps", fmt.Appendf(nil, "WAIT a barrier=%s timeout=%s\n", barrierName, limit))
	if ds.HasErrors() {
		b.failf("%v", ds)
		return nil
	}
	w, r := &waited{host: x.i, from: b.at()}, x.begin()
	b.mu.Lock()
	b.waits = append(b.waits, w)
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.processes.Go(func() {
		select {
		case <-r.killed:
			cancel()
		case <-ctx.Done():
		}
	})
	ask := func(ctx context.Context, body []byte) ([]byte, error) { return b.ask(ctx, r, w, body) }
	w.heard = w.from
	err := check.Wait(ctx, mem.New(mem.Options{}), probe.Net{Hubs: ask}, list[0], 0)
	b.mayExpire(w, b.at()+expiry)
	b.mu.Lock()
	defer b.mu.Unlock()
	w.to = b.at()
	x.state.Lock()
	x.run = nil
	x.state.Unlock()
	select {
	case <-r.killed:
		w.killed = true
		b.count["wait was killed"]++
	default:
		if (err == nil) != (w.generation > 0) {
			b.wrong = append(b.wrong, fmt.Sprintf("%s: the wait of web%d ends with %v, generation %d", w.to, x.i, err,
				w.generation))
		}
		b.count[map[bool]string{true: "wait passed", false: "wait failed"}[err == nil]]++
	}
	return w
}

// ask sends a request of a run through the agent of its host, and records the answer.
func (b *barrierHistory) ask(ctx context.Context, r *run, w *waited, body []byte) ([]byte, error) {
	x := r.host
	x.state.Lock()
	agent, dead := x.ctx, x.keeper == nil
	x.state.Unlock()
	var q fleet.WaitRequest
	if err := json.Unmarshal(body, &q); err != nil {
		b.failf("%v", err)
	}
	q.Order = x.order.Add(1)
	b.mu.Lock()
	w.run = q.Run
	b.mu.Unlock()
	body, err := json.Marshal(q)
	if err != nil {
		b.failf("%v", err)
	}
	select {
	case <-r.killed:
		return nil, errors.New("the run is killed")
	default:
	}
	if dead {
		return nil, agentsocket.ErrNoAgent
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(agent, cancel)()
	sent := b.at()
	answer, err := b.request(ctx, x, func(ctx context.Context, p *process) ([]byte, error) {
		return p.waits.OnWait(ctx, x.id, body)
	})
	b.note("web%d asks %s: %s %v", x.i, body, answer, err)
	var a fleet.WaitAnswer
	if err == nil {
		err = json.Unmarshal(answer, &a)
	}
	if !errors.Is(err, fleet.ErrNoHub) {
		b.recordWait(w, q, sent, a, err == nil)
	}
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.withdrawn = q.Action == fleet.WaitWithdraw; a.Done {
		if w.generation != 0 && w.generation != a.Generation {
			b.wrong = append(b.wrong, fmt.Sprintf("web%d gets generation %d after %d", x.i, a.Generation, w.generation))
		}
		w.generation = a.Generation
	}
	return answer, nil
}

// killRun kills the run of any host.
func (b *barrierHistory) killRun() {
	x := b.hosts[b.dice(len(b.hosts))]
	x.state.Lock()
	r := x.run
	x.state.Unlock()
	if r != nil {
		r.kill()
	}
}

// shrinks lets all members except one wait, and retires this one. The barrier opens then, if all members must arrive.
// Otherwise all members wait, and continue.
func (b *barrierHistory) shrinks() {
	time.Sleep(3 * time.Minute) // arrivals of killed runs have ended
	waiting := b.hosts
	if b.quorum == 0 {
		waiting = waiting[1:]
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	for _, x := range waiting {
		all.Go(func() { b.wait(x, time.Hour) })
	}
	go func() { all.Wait(); close(done) }()
	ended := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	if b.quorum == 0 {
		time.Sleep(time.Minute)
		if ended() {
			b.failf("the barrier opened without web0")
		}
		b.retire(0)
	}
	// Two looks of the leading hub, the time for which it uses a copy of the targets, and the pause between requests.
	b.await("the barrier opens", 45*time.Second, func() bool { return ended() || b.quorum == 3 })
	for b.quorum == 3 && !ended() { // the last members wait for arrivals that do not come
		time.Sleep(time.Minute)
	}
	b.happened("last generation")
}

// retire removes a member from the fleet.
func (b *barrierHistory) retire(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.targets[b.hosts[i].id]
	t.Standing = fleet.Retired
	b.targets[t.ID] = t
	b.gone[i] = b.at()
}
