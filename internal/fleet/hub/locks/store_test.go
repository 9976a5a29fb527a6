package locks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// hubOver returns the locks of a hub over a store. Its mirrors follow the store until the test ends.
func hubOver(t *testing.T, store fleet.Store) *Locks {
	t.Helper()
	table := &records.Table{}
	table.Locks = records.NewMirror(store, "lock/", records.ParseLock)
	table.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
	table.Epochs = records.NewMirror[records.Epoch](store, "rule/", nil)
	table.Exemptions = records.NewMirror[assign.Exemption](store, "exemption/", nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { _ = table.Locks.Follow(ctx); done <- struct{}{} }()
	go func() { _ = table.Epochs.Follow(ctx); done <- struct{}{} }()
	t.Cleanup(func() { stop(); <-done; <-done })
	<-table.Locks.Filled()
	<-table.Epochs.Filled()
	warn := func(text string) { t.Log(text) }
	now := func() time.Time { return noon }
	s := New(Config{Now: now, Warn: warn, Records: table, MayChange: func() error { return nil },
		Events: events.Recorder{Hub: "hub1", Log: bustest.NewLog(), Now: now, Warn: warn}})
	s.Uptime = func() time.Duration { return s.Now().Sub(noon) }
	return s
}

func reboots(slots int) coordination.Definition {
	return coordination.Definition{Name: "reboots", Slots: slots, Lease: time.Hour, OnExpiry: coordination.Keep}
}

// declare declares locks at once.
func declare(t *testing.T, s *Locks, all ...coordination.Definition) {
	t.Helper()
	s.declared.set(all)
	if err := s.tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// uncertain is a store with a network that loses requests and answers, and with servers that answer reads although
// they no longer lead.
type uncertain struct {
	fleet.Store
	mu     sync.Mutex
	random *rand.Rand
	old    map[string][]fleet.Entry
	late   sync.WaitGroup
}

func newUncertain(s fleet.Store, seed uint64) *uncertain {
	return &uncertain{Store: s, random: rand.New(rand.NewPCG(seed, seed)), old: map[string][]fleet.Entry{}}
}

func (u *uncertain) dice(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.random.IntN(n)
}

// Get sometimes returns an entry that was read before.
func (u *uncertain) Get(ctx context.Context, key string) (fleet.Entry, error) {
	e, err := u.Store.Get(ctx, key)
	if err != nil {
		return e, err
	}
	n := u.dice(4)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.old[key] = append(u.old[key], e)
	if old := u.old[key]; n == 0 {
		return old[u.random.IntN(len(old))], nil
	}
	return e, nil
}

// Watch reports changes late.
func (u *uncertain) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	return u.Store.Watch(ctx, func(e fleet.Entry) {
		time.Sleep(time.Duration(u.dice(300)) * time.Millisecond)
		each(e)
	}, ready)
}

// Update sometimes returns no answer. The store then has the value, does not have it, or gets it later.
func (u *uncertain) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	switch u.dice(16) {
	case 0:
		return 0, fmt.Errorf("lost request: %w", fleet.ErrNoAnswer)
	case 1:
		_, _ = u.Store.Update(ctx, key, value, rev)
		return 0, fmt.Errorf("lost answer: %w", fleet.ErrNoAnswer)
	case 2:
		pause := time.Duration(u.dice(500)) * time.Millisecond
		u.late.Go(func() {
			time.Sleep(pause)
			_, _ = u.Store.Update(context.WithoutCancel(ctx), key, value, rev)
		})
		return 0, fmt.Errorf("late request: %w", fleet.ErrNoAnswer)
	}
	return u.Store.Update(ctx, key, value, rev)
}
