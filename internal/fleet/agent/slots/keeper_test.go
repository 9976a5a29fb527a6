package slots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/executor/slots"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/host/mem"
)

// hub decides about locks, as real hubs do.
type hub struct {
	mu    sync.Mutex
	locks map[string]coordination.State
	asked atomic.Int64 // number of requests
	now   atomic.Int64 // ms since 1970, and since the boot of each host
}

func newHub(onExpiry coordination.OnExpiry, slots int, names ...string) *hub {
	h := &hub{locks: map[string]coordination.State{}}
	h.now.Store(1e12)
	for _, name := range names {
		h.locks[name], _ = coordination.Decide(coordination.State{}, coordination.Event{Kind: coordination.Define,
			Definition: coordination.Definition{Name: name, Slots: slots, Lease: time.Minute, OnExpiry: onExpiry}}, 1e12)
	}
	return h
}

func (h *hub) clock() time.Duration { return time.Duration(h.now.Load()) * time.Millisecond }

// ask answers a request of an owner.
func (h *hub) ask(owner string, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
	h.asked.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	state, ok := h.locks[r.Lock]
	if !ok {
		return fleet.SlotAnswer{Unknown: true, Why: "the fleet has no lock " + r.Lock}, nil
	}
	e := coordination.Event{Kind: coordination.Acquire, Owner: owner, Token: r.Token, Order: r.Order}
	if r.Action == fleet.SlotRelease {
		e.Kind = coordination.Release
	}
	next, a := coordination.Decide(state, e, h.now.Load())
	h.locks[r.Lock] = next
	return fleet.SlotAnswer{Granted: a.Token > 0, Token: a.Token, Why: a.Explain(next), Lease: int64(next.Lease),
		Wait: int64(next.Wait)}, nil
}

// owners returns the owners of the slots of a lock.
func (h *hub) owners(lock string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, x := range h.locks[lock].Holders {
		out = append(out, x.Owner)
	}
	return strings.Join(out, ",")
}

// waits returns the targets that wait for a slot of a lock.
func (h *hub) waits(lock string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, x := range h.locks[lock].Waiting(h.now.Load()) {
		out = append(out, x.Owner)
	}
	return strings.Join(out, ",")
}

// target is a host with an agent. Its state directory and its runs survive the agent.
type target struct {
	t        *testing.T
	hub      *hub
	name     string
	state    *mem.Host
	away     atomic.Bool                       // no hub answers
	lost     atomic.Bool                       // answers are lost
	refuse   atomic.Bool                       // the hub cannot grant slots now
	late     atomic.Pointer[fleet.SlotRequest] // a release that no hub has yet; nil: releases are sent
	busy     atomic.Bool                       // a run is unfinished
	reserved atomic.Bool
	asked    atomic.Int64 // number of requests, also without an answer
	mu       sync.Mutex
	keeper   *Keeper // nil: the agent is dead
	ctx      context.Context
	kill     func()
	work     *sync.WaitGroup
}

func newTarget(t *testing.T, h *hub, name string) *target {
	x := &target{t: t, hub: h, name: name, state: mem.New(mem.Options{})}
	x.start()
	t.Cleanup(x.stop)
	return x
}

func (x *target) start() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.work = &sync.WaitGroup{}
	x.ctx, x.kill = context.WithCancel(context.Background())
	order := &Sequence{State: x.state, File: "/order.json", Now: time.Now}
	x.keeper = &Keeper{State: x.state, File: "/slots.json", Clock: x.hub.clock, Again: time.Millisecond,
		Look: time.Millisecond, Order: order.Next, Warn: func(text string) { x.t.Error(text) },
		Busy:     func(context.Context) (bool, error) { return x.busy.Load(), nil },
		Reserved: func(string) bool { return x.reserved.Load() },
		Ask: func(_ context.Context, r fleet.SlotRequest) (fleet.SlotAnswer, error) {
			x.asked.Add(1)
			if x.away.Load() || x.refuse.Load() && r.Action == fleet.SlotAcquire {
				return fleet.SlotAnswer{}, fleet.ErrNoHub
			}
			if x.late.Load() != nil && r.Action == fleet.SlotRelease {
				x.late.Store(&r)
				return fleet.SlotAnswer{}, fleet.ErrNoHub
			}
			a, err := x.hub.ask(x.name, r)
			if x.lost.Load() {
				return fleet.SlotAnswer{}, fleet.ErrNoHub
			}
			return a, err
		}}
	k, ctx := x.keeper, x.ctx
	x.work.Go(func() { k.Run(ctx) })
}

// stop kills the agent.
func (x *target) stop() {
	x.mu.Lock()
	k, kill, work := x.keeper, x.kill, x.work
	x.keeper = nil
	x.mu.Unlock()
	if k != nil {
		kill()
		work.Wait()
	}
}

// pipe is one end of a stream.
type pipe struct {
	io.Reader
	io.Writer
	close func()
}

func (p pipe) Close() error { p.close(); return nil }

// run is a process that changes the host. killed ends its connections as the end of the process does.
type run struct {
	*slots.Client
	killed func()
}

func (x *target) run() run {
	var mu sync.Mutex
	dead, ends := false, []func(){}
	c := &slots.Client{Clock: x.hub.clock, Every: time.Millisecond}
	c.Dial = func(context.Context) (io.ReadWriteCloser, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		if x.keeper == nil || dead {
			return nil, agentsocket.ErrNoAgent
		}
		r1, w1 := io.Pipe()
		r2, w2 := io.Pipe()
		end := func() { _ = w1.Close(); _ = w2.Close(); _ = r1.Close(); _ = r2.Close() }
		ends = append(ends, end)
		k, ctx := x.keeper, x.ctx
		x.work.Go(func() { k.Serve(ctx, pipe{r1, w2, end}) })
		return pipe{r2, w1, end}, nil
	}
	return run{c, func() {
		mu.Lock()
		defer mu.Unlock()
		dead = true
		for _, end := range ends {
			end()
		}
	}}
}

// acquire acquires slots without waiting for other runs.
func (r run) acquire(t *testing.T, names ...string) executor.Slots {
	t.Helper()
	s, err := r.Acquire(t.Context(), names, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// TestAllOrNone: a run waits until all slots are free, holds none meanwhile, and gets the reason.
func TestAllOrNone(t *testing.T) {
	h := newHub("", 1, "a", "b")
	web1, web2 := newTarget(t, h, "web1"), newTarget(t, h, "web2")
	first := web1.run().acquire(t, "b")
	told, got := make(chan string, 100), make(chan executor.Slots)
	go func() {
		s, err := web2.run().Acquire(t.Context(), []string{"a", "b"}, func(text string) { told <- text })
		if err != nil {
			t.Error(err)
		}
		got <- s
	}()
	text := <-told
	for strings.Contains(text, otherRun) { // the agent looks for slots of earlier runs
		text = <-told
	}
	if text != "the run waits: the slot of the lock b is taken" {
		t.Errorf("the reason is %q", text)
	}
	await(t, "the slot of a is free", func() bool { return h.owners("a") == "" })
	h.now.Add(1000)
	asked := h.asked.Load()
	await(t, "the run tries again", func() bool { return h.asked.Load() > asked+10 })
	h.mu.Lock()
	list := h.locks["b"].Waiters
	h.mu.Unlock()
	if len(list) != 1 || list[0].Owner != "web2" || list[0].Since != 1e12 {
		t.Errorf("the waiting targets are %v", list)
	}
	first.Release()
	s := <-got
	if h.owners("a") != "web2" || h.owners("b") != "web2" || len(s.Tokens()) != 2 {
		t.Errorf("the owners are %q and %q, and the tokens %v", h.owners("a"), h.owners("b"), s.Tokens())
	}
	s.Release()
	if h.owners("a")+h.owners("b") != "" {
		t.Error("the slots are not released")
	}
}

// TestRefusals: a run that gets no slots ends with the reason, and holds none.
func TestRefusals(t *testing.T) {
	h := newHub("", 1, "a")
	web1, web2 := newTarget(t, h, "web1"), newTarget(t, h, "web2")
	refused := func(x *target, name, want string) {
		t.Helper()
		_, err := x.run().Acquire(t.Context(), []string{name}, func(text string) {
			if want == otherRun || !strings.Contains(text, otherRun) { // the agent looks for slots of earlier runs
				h.now.Add(int64(time.Hour / 1e6))
			}
		})
		if !errors.Is(err, executor.ErrNoSlot) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the run ended with %v, want %q", err, want)
		}
	}
	refused(web2, "none", "the fleet has no lock none")
	s := web1.run().acquire(t, "a")
	refused(web2, "a", "the slot of the lock a is taken")
	refused(web1, "a", otherRun)
	if who := h.waits("a"); who != "" {
		t.Errorf("%s waits after its run has ended", who)
	}
	s.Release()
	web1.away.Store(true)
	refused(web1, "a", "no hub answers")
	web1.stop()
	refused(web1, "a", agentsocket.ErrNoAgent.Error())
}

// TestKilledRun: the slots of a run that was killed stay taken while the run is unfinished. The agent does not renew
// the lease. After the recovery it releases the slots, also if another process of the agent runs then.
func TestKilledRun(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	r := web1.run()
	r.acquire(t, "a")
	web1.busy.Store(true)
	r.killed()
	web1.stop()
	web1.start()
	if h.owners("a") != "web1" {
		t.Fatalf("the owner is %q", h.owners("a"))
	}
	web1.busy.Store(false)
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}

// TestLostAnswer: the agent also releases a slot whose grant it never received.
func TestLostAnswer(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	web1.lost.Store(true)
	_, err := web1.run().Acquire(t.Context(), []string{"a"}, func(string) { h.now.Add(int64(time.Hour / 1e6)) })
	if err == nil {
		t.Error("the run has a slot")
	}
	web1.lost.Store(false)
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}

// TestNoRenewal: a run stops before its lease ends if the agent cannot renew it.
func TestNoRenewal(t *testing.T) {
	h := newHub(coordination.Free, 1, "a")
	web1 := newTarget(t, h, "web1")
	s := web1.run().acquire(t, "a")
	web1.away.Store(true)
	h.now.Add(41_000)
	<-s.Lost()
	if h.owners("a") != "web1" {
		t.Error("the run stopped after its lease")
	}
	s.Release()
	web1.away.Store(false)
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}

// TestSlotOfReboot: a slot that a reboot needs too stays taken after the run.
func TestSlotOfReboot(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	s := web1.run().acquire(t, "a")
	web1.reserved.Store(true)
	s.Release()
	if h.owners("a") != "web1" || web1.keeper.Holds("a") {
		t.Errorf("the owner is %q", h.owners("a"))
	}
}

// TestDeclaredWait: a lock can declare how long runs wait for it.
func TestDeclaredWait(t *testing.T) {
	h := newHub("", 1, "a")
	l := h.locks["a"]
	l.Wait = time.Hour
	h.locks["a"] = l
	web1, web2 := newTarget(t, h, "web1"), newTarget(t, h, "web2")
	defer web1.run().acquire(t, "a").Release()
	go func() {
		for t.Context().Err() == nil {
			h.now.Add(1000)
			time.Sleep(time.Millisecond / 10)
		}
	}()
	began := h.clock()
	_, err := web2.run().Acquire(t.Context(), []string{"a"}, func(string) {})
	if waited := h.clock() - began; err == nil || waited < time.Hour {
		t.Errorf("the run waited for %s: %v", waited, err)
	}
}
