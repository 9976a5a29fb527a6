package coordination

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/locks"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/waits"
)

// hub is a hub with a clock of its own. A process of it ends when it is killed.
type hub struct {
	*site
	name string
	skew atomic.Int64 // ns that its clock is ahead
	cut  atomic.Bool  // isolated from the other hubs, and so from the store

	mu  sync.Mutex
	now *process // nil: killed
}

// process is one start of a hub.
type process struct {
	*hub
	ctx   context.Context
	end   func()
	ready atomic.Bool // it serves
	locks *locks.Locks
	waits *waits.Waits
}

func (h *hub) clock() time.Time { return time.Now().Add(time.Duration(h.skew.Load())) }

// serving returns the process of a hub, or nil.
func (h *hub) serving() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil || !h.now.ready.Load() {
		return nil
	}
	return h.now
}

// start starts a hub, unless it runs.
func (h *hub) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now == nil {
		p := &process{hub: h}
		p.ctx, p.end = context.WithCancel(context.Background())
		h.now = p
		h.processes.Go(p.serve)
	}
}

// serve begins to serve when the mirrors of the hub have everything.
func (p *process) serve() {
	h := p.hub
	store := &link{Store: h.store, hub: h}
	table := &records.Table{}
	table.Locks = records.NewMirror(store, "lock/", records.ParseLock)
	table.Barriers = records.NewMirror(store, "barrier/", records.ParseBarrier)
	table.Signals = records.NewMirror(store, "signal/", records.ParseSignal)
	table.Targets = records.NewMirror[fleet.Target](h.registry, "", nil)
	table.Epochs = records.NewMirror[records.Epoch](h.store, "rule/", nil)
	table.Exemptions = records.NewMirror[assign.Exemption](h.store, "exemption/", nil)
	for _, follow := range []func(context.Context) error{table.Locks.Follow, table.Barriers.Follow, table.Signals.Follow,
		table.Targets.Follow, table.Epochs.Follow} {
		h.processes.Go(func() { _ = follow(p.ctx) })
	}
	for _, filled := range []<-chan struct{}{table.Locks.Filled(), table.Barriers.Filled(), table.Targets.Filled()} {
		select {
		case <-filled:
		case <-p.ctx.Done():
			return
		}
	}
	warn := func(string) {}
	recorder := events.Recorder{Hub: h.name, Log: bustest.NewLog(), Now: h.clock, Warn: warn}
	mayChange := func() error {
		if h.cut.Load() {
			return fmt.Errorf("most hubs are away: %w", fleet.ErrNoAnswer)
		}
		return nil
	}
	p.locks = locks.New(locks.Config{Now: h.clock, Warn: warn, Records: table, Events: recorder, MayChange: mayChange,
		Trusted: h.trusted})
	p.waits = waits.New(waits.Config{Now: h.clock, Warn: warn, Records: table, Events: recorder, MayChange: mayChange,
		Trusted: h.trusted, Observe: h.observe})
	if h.declared != nil {
		h.declared(p)
	}
	// Only the leading hub must run these loops, and two leaders must not matter.
	h.processes.Go(func() { _ = p.locks.Run(p.ctx) })
	h.processes.Go(func() { _ = p.waits.Run(p.ctx) })
	p.ready.Store(true)
}

// kill ends the process of a hub. Its earlier requests can still reach the store.
func (h *hub) kill() {
	h.mu.Lock()
	p := h.now
	h.now = nil
	h.mu.Unlock()
	if p != nil {
		p.end()
	}
}

// trusted returns an active target.
func (s *site) trusted(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.targets[id]; t.Standing == fleet.Active {
		return fleet.Target{ID: id, Name: t.Name}, nil
	}
	return fleet.Target{}, fleet.ErrDenied
}

func (s *site) observe(context.Context) (map[fleet.TargetID]document.Target, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[fleet.TargetID]document.Target{}
	for id, t := range s.targets {
		out[id] = t
	}
	return out, nil
}

// link is the connection of a hub to the store of all hubs.
type link struct {
	fleet.Store
	hub *hub
	mu  sync.Mutex
	old map[string][]fleet.Entry
}

// storeTime is the time after which a request to the store without an answer ends.
const storeTime = 5 * time.Second

// lost waits for an answer that does not come.
func lost(ctx context.Context) error {
	wait(ctx, storeTime)
	return fmt.Errorf("the store is away: %w", fleet.ErrNoAnswer)
}

// wait waits for some time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Get sometimes returns an entry that was read before: servers that no longer lead answer reads.
func (l *link) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if l.hub.cut.Load() && l.hub.dice(2) == 0 {
		return fleet.Entry{}, lost(ctx)
	}
	e, err := l.Store.Get(ctx, key)
	if err != nil || !l.hub.faulty.Load() {
		return e, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.old == nil {
		l.old = map[string][]fleet.Entry{}
	}
	old := append(l.old[key], e)
	l.old[key] = old[max(0, len(old)-5):]
	if l.hub.cut.Load() || l.hub.dice(8) == 0 {
		return old[0], nil
	}
	return e, nil
}

// Update sometimes gets no answer. The store then has the value, does not have it, or gets it later.
func (l *link) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	wait(ctx, time.Duration(l.hub.dice(20))*time.Millisecond)
	n := l.hub.dice(40)
	switch {
	case l.hub.cut.Load() && n < 36, l.hub.faulty.Load() && n == 36:
		return 0, lost(ctx)
	case l.hub.faulty.Load() && n == 37:
		_, _ = l.Store.Update(context.WithoutCancel(ctx), key, value, rev)
		return 0, lost(ctx)
	case l.hub.faulty.Load() && n == 38:
		late := time.Duration(l.hub.dice(20_000)) * time.Millisecond
		l.hub.processes.Go(func() {
			time.Sleep(late)
			_, _ = l.Store.Update(context.WithoutCancel(ctx), key, value, rev)
		})
		return 0, lost(ctx)
	}
	return l.Store.Update(context.WithoutCancel(ctx), key, value, rev)
}

// Watch reports changes late, and not at all while the hub is isolated.
func (l *link) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	return l.Store.Watch(ctx, func(e fleet.Entry) {
		for l.hub.cut.Load() && ctx.Err() == nil {
			wait(ctx, time.Second)
		}
		wait(ctx, time.Duration(l.hub.dice(100))*time.Millisecond)
		each(e)
	}, ready)
}
