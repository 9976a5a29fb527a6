package coordination

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/slots"
	"fettle.dev/fettle/internal/host/mem"
)

// host is a host with an agent. Its disk and its runs survive the agent.
type host struct {
	*site
	i    int
	id   fleet.TargetID
	away atomic.Bool // isolated from all hubs
	busy atomic.Bool // a run is unfinished
	gone atomic.Bool // it does not return
	// order is the order of the requests about barriers. The sequence of the agent is tested with locks.
	order atomic.Uint64

	state  sync.Mutex // of the fields below
	disk   *mem.FS
	booted time.Duration
	keeper *slots.Keeper // nil: the agent is dead
	ctx    context.Context
	end    func()
	run    *run // nil: none
}

func newHost(s *site, i int, id fleet.TargetID) *host {
	return &host{site: s, i: i, id: id, disk: mem.NewFS(mem.Options{})}
}

// sinceBoot is the clock of the host that no correction affects.
func (x *host) sinceBoot() time.Duration {
	x.state.Lock()
	defer x.state.Unlock()
	return x.at() - x.booted
}

// start starts the agent, unless it runs.
func (x *host) start() {
	x.state.Lock()
	defer x.state.Unlock()
	if x.keeper != nil || x.gone.Load() {
		return
	}
	x.ctx, x.end = context.WithCancel(context.Background())
	order := &slots.Sequence{State: x.disk, File: "/order.json", Now: time.Now}
	x.keeper = &slots.Keeper{State: x.disk, File: "/slots.json", Ask: x.askSlot, Clock: x.sinceBoot, Order: order.Next,
		Again: 10 * time.Second, Look: 5 * time.Second, Warn: func(string) {},
		Busy:     func(context.Context) (bool, error) { return x.busy.Load(), nil },
		Reserved: func(string) bool { return false }}
	k, ctx := x.keeper, x.ctx
	x.processes.Go(func() { k.Run(ctx) })
}

// kill kills the agent.
func (x *host) kill() {
	x.state.Lock()
	defer x.state.Unlock()
	if x.keeper != nil {
		x.keeper = nil
		x.end()
	}
}

// powerCut kills the agent and the run. Writes that are not durable are lost or not.
func (x *host) powerCut() {
	x.kill()
	x.state.Lock()
	r := x.run
	x.disk = x.disk.CrashClone(rand.New(rand.NewPCG(uint64(x.dice(1000)), 1)))
	x.booted = x.at()
	x.state.Unlock()
	if r != nil {
		r.kill()
	}
}

func (x *host) askSlot(ctx context.Context, r fleet.SlotRequest) (a fleet.SlotAnswer, err error) {
	request, err := json.Marshal(r)
	var answer []byte
	sent := x.at()
	if err == nil { // a hub can handle the request after askSlot has returned
		answer, err = x.request(ctx, x, func(ctx context.Context, p *process) ([]byte, error) {
			x.note("%s gets from web%d: %s", p.name, x.i, request)
			answer, err := p.locks.OnSlot(ctx, x.id, request)
			x.note("%s answers web%d: %s %v", p.name, x.i, answer, err)
			return answer, err
		})
	}
	if err == nil {
		a, err = fleet.ParseSlotAnswer(answer)
	}
	release := r.Action == fleet.SlotRelease
	if err != nil && !errors.Is(err, fleet.ErrNoHub) || a.Granted || release && err == nil || errors.Is(err, errLost) {
		q := slotRequest{owner: string(x.id), release: release, token: r.Token, order: r.Order}
		x.record(x.i, q, slotAnswer{err == nil, a.Token}, sent, err == nil)
	}
	return a, err
}

// run is a process that changes the host.
type run struct {
	*host
	killed chan struct{}

	mu   sync.Mutex
	dead bool
	ends []func()
}

// pipe is one end of a stream.
type pipe struct {
	io.Reader
	io.Writer
	close func()
}

func (p pipe) Close() error { p.close(); return nil }

// dial connects a run to the agent of its host.
func (r *run) dial(context.Context) (io.ReadWriteCloser, error) {
	r.state.Lock()
	k, ctx := r.keeper, r.ctx
	r.state.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if k == nil || r.dead {
		return nil, agentsocket.ErrNoAgent
	}
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	end := func() { _ = w1.Close(); _ = w2.Close(); _ = r1.Close(); _ = r2.Close() }
	r.ends = append(r.ends, end)
	r.processes.Go(func() { k.Serve(ctx, pipe{r1, w2, end}) })
	return pipe{r2, w1, end}, nil
}

// kill ends the run as kill -9 does: its work ends, and the host stays between two states until the run is recovered.
func (r *run) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dead {
		r.dead = true
		close(r.killed)
		for _, end := range r.ends {
			end()
		}
	}
}

// begin begins a run of the host.
func (x *host) begin() *run {
	r := &run{host: x, killed: make(chan struct{})}
	x.state.Lock()
	defer x.state.Unlock()
	x.run = r
	return r
}

// end ends a run. A run that was killed is recovered by the next command, some time later.
func (x *host) ended(r *run) {
	select {
	case <-r.killed:
		if !x.gone.Load() {
			time.Sleep(time.Duration(x.dice(150)) * time.Second)
		}
	default:
	}
	x.state.Lock()
	x.run = nil
	x.state.Unlock()
	if !x.gone.Load() {
		x.busy.Store(false)
	}
}
