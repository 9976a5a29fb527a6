package largefleet

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

var errDead = errors.New("the process is gone")

// process is the connection of one hub to the shared storage.
type process struct {
	dead   atomic.Bool
	cut    atomic.Bool // the hub cannot reach the storage
	writes atomic.Int64
	// dieAt is the number of the write of assignments before which the process ends; 0 means never.
	dieAt atomic.Int64
	died  func()
}

func (p *process) usable() error {
	if p.dead.Load() {
		return errDead
	}
	if p.cut.Load() {
		return fleet.ErrNoAnswer
	}
	return nil
}

// processStore is the storage as one hub uses it.
type processStore struct {
	*bustest.Store
	of          *process
	assignments bool
}

func (s processStore) writable() error {
	if s.assignments && s.of.writes.Add(1) == s.of.dieAt.Load() {
		s.of.dead.Store(true)
		go s.of.died()
	}
	return s.of.usable()
}

func (s processStore) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if err := s.of.usable(); err != nil {
		return fleet.Entry{}, err
	}
	return s.Store.Get(ctx, key)
}

func (s processStore) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	return s.Store.Put(ctx, key, value)
}

func (s processStore) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	return s.Store.Update(ctx, key, value, rev)
}

func (s processStore) UpdateAll(ctx context.Context, all []fleet.Entry) ([]uint64, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	return s.Store.UpdateAll(ctx, all)
}

func (s processStore) Delete(ctx context.Context, key string, rev uint64) error {
	if err := s.writable(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, key, rev)
}

func (s processStore) Absent(ctx context.Context, key string) error {
	if err := s.writable(); err != nil {
		return err
	}
	return s.Store.Absent(ctx, key)
}

// Watch delays entries while the hub cannot reach the storage.
func (s processStore) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	return s.Store.Watch(ctx, func(e fleet.Entry) {
		for s.of.cut.Load() && ctx.Err() == nil {
			time.Sleep(time.Second)
		}
		each(e)
	}, ready)
}
