package bustest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// Store is a fleet.Store in memory.
type Store struct {
	mu       sync.Mutex
	rev      uint64
	entries  map[string]fleet.Entry // including deleted entries
	watchers map[*watcher]bool
	broken   error
}

var (
	_ fleet.Store   = (*Store)(nil)
	_ fleet.Batcher = (*Store)(nil)
	_ fleet.Prover  = (*Store)(nil)
)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{entries: map[string]fleet.Entry{}, watchers: map[*watcher]bool{}}
}

// Copy returns another store with the same content and without watchers, like a backup.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := NewStore()
	out.rev = s.rev
	for key, e := range s.entries {
		out.entries[key] = copied(e)
	}
	return out
}

// Break makes each call except Watch fail with err; nil ends this.
func (s *Store) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func copied(e fleet.Entry) fleet.Entry {
	e.Value = bytes.Clone(e.Value)
	return e
}

// Get implements fleet.Store.
func (s *Store) Get(ctx context.Context, key string) (fleet.Entry, error) {
	if err := bus.CheckEntry(key, nil); err != nil {
		return fleet.Entry{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(ctx); err != nil {
		return fleet.Entry{}, err
	}
	e := s.entries[key]
	if e.Rev == 0 || e.Gone {
		return fleet.Entry{}, fmt.Errorf("cannot read %s: %w", key, fleet.ErrNotFound)
	}
	return copied(e), nil
}

func (s *Store) fails(ctx context.Context) error {
	if s.broken != nil {
		return s.broken
	}
	return ctx.Err()
}

// Put implements fleet.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return s.write(ctx, fleet.Entry{Key: key, Value: value}, func(fleet.Entry) bool { return true })
}

// Update implements fleet.Store.
func (s *Store) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	return s.write(ctx, fleet.Entry{Key: key, Value: value}, func(now fleet.Entry) bool { return at(now, rev) })
}

// Delete implements fleet.Store.
func (s *Store) Delete(ctx context.Context, key string, rev uint64) error {
	_, err := s.write(ctx, fleet.Entry{Key: key, Gone: true},
		func(now fleet.Entry) bool { return rev == 0 || now.Rev == rev })
	return err
}

// Absent implements fleet.Prover.
func (s *Store) Absent(ctx context.Context, key string) error {
	_, err := s.write(ctx, fleet.Entry{Key: key, Gone: true}, func(now fleet.Entry) bool { return at(now, 0) })
	return err
}

func (s *Store) write(ctx context.Context, e fleet.Entry, may func(now fleet.Entry) bool) (uint64, error) {
	if err := bus.CheckEntry(e.Key, e.Value); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(ctx); err != nil {
		return 0, err
	}
	if !may(s.entries[e.Key]) {
		return 0, fmt.Errorf("cannot write %s: %w", e.Key, fleet.ErrConflict)
	}
	return s.set(e), nil
}

func (s *Store) set(e fleet.Entry) uint64 {
	s.rev++
	e.Rev = s.rev
	s.entries[e.Key] = copied(e)
	for w := range s.watchers {
		w.add(copied(e))
	}
	return e.Rev
}

// UpdateAll implements fleet.Batcher.
func (s *Store) UpdateAll(ctx context.Context, all []fleet.Entry) ([]uint64, error) {
	if len(all) > fleet.MaxUpdateAll {
		return nil, fmt.Errorf("cannot write %d keys at once", len(all))
	}
	for _, e := range all {
		if err := bus.CheckEntry(e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(ctx); err != nil {
		return nil, err
	}
	for _, e := range all {
		if !at(s.entries[e.Key], e.Rev) {
			return nil, fmt.Errorf("cannot write %s: %w", e.Key, fleet.ErrConflict)
		}
	}
	var newer []uint64
	for _, e := range all {
		newer = append(newer, s.set(fleet.Entry{Key: e.Key, Value: e.Value}))
	}
	return newer, nil
}

// at returns true if an entry has the revision; 0 means that it does not exist.
func at(now fleet.Entry, rev uint64) bool {
	return rev == 0 && (now.Gone || now.Rev == 0) || rev != 0 && now.Rev == rev
}

// All implements fleet.Store. The result is sorted.
func (s *Store) All(ctx context.Context) ([]fleet.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.there(), s.fails(ctx)
}

// there must be called with the lock held.
func (s *Store) there() []fleet.Entry {
	var out []fleet.Entry
	for _, e := range s.entries {
		if !e.Gone {
			out = append(out, copied(e))
		}
	}
	slices.SortFunc(out, func(a, b fleet.Entry) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// watcher is a queue without a limit, so that writers never wait.
type watcher struct {
	mu   sync.Mutex
	list []fleet.Entry
	more chan struct{}
}

func (w *watcher) add(e fleet.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, e)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []fleet.Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}

// Watch implements fleet.Store.
func (s *Store) Watch(ctx context.Context, each func(fleet.Entry), ready func()) error {
	w := &watcher{more: make(chan struct{}, 1)}
	s.mu.Lock()
	first := s.there()
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}()
	for _, e := range first {
		each(e)
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.more:
		}
		for _, e := range w.take() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			each(e)
		}
	}
}
