package pki_test

import (
	"context"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// memory is a store for one test.
type memory struct {
	mu   sync.Mutex
	rev  uint64
	all  map[string]fleet.Entry
	fail func(op, key string) error
}

func (m *memory) failing(op, key string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(op, key)
}

func (m *memory) Get(_ context.Context, key string) (fleet.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("get", key); err != nil {
		return fleet.Entry{}, err
	}
	e, ok := m.all[key]
	if !ok {
		return fleet.Entry{}, fleet.ErrNotFound
	}
	return e, nil
}

func (m *memory) Put(_ context.Context, key string, value []byte) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("put", key); err != nil {
		return 0, err
	}
	return m.set(key, value), nil
}

func (m *memory) set(key string, value []byte) uint64 {
	if m.all == nil {
		m.all = map[string]fleet.Entry{}
	}
	m.rev++
	m.all[key] = fleet.Entry{Key: key, Value: append([]byte(nil), value...), Rev: m.rev}
	return m.rev
}

func (m *memory) Update(_ context.Context, key string, value []byte, rev uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("update", key); err != nil {
		return 0, err
	}
	if m.all[key].Rev != rev {
		return 0, fleet.ErrConflict
	}
	return m.set(key, value), nil
}

func (m *memory) Delete(_ context.Context, key string, rev uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("delete", key); err != nil {
		return err
	}
	if rev != 0 && m.all[key].Rev != rev {
		return fleet.ErrConflict
	}
	delete(m.all, key)
	return nil
}

func (m *memory) All(context.Context) ([]fleet.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []fleet.Entry
	for _, e := range m.all {
		out = append(out, e)
	}
	return out, nil
}

func (m *memory) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	all, _ := m.All(ctx)
	for _, e := range all {
		each(e)
	}
	ready()
	<-ctx.Done()
	return ctx.Err()
}
