package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// kept is a value of a bucket with its revision in the store.
type kept[T any] struct {
	value T
	rev   uint64
}

// Mirror is a bucket in memory, kept current by a watch of the store. Reading never blocks on the
// store. A write through the mirror is visible in it when the write returns. It is safe for
// concurrent use.
type Mirror[T any] struct {
	Store  fleet.Store
	prefix string // of the keys in the store; keys of the mirror omit it
	// Parse decodes a value. The mirror omits values that it refuses, see Unreadable.
	Parse func([]byte) (T, error)
	// Format encodes a value; nil means JSON.
	Format func(T) ([]byte, error)
	// Changed is called without the lock after each change. A removed key has the zero value and
	// gone set. It may be nil.
	Changed func(key string, value T, rev uint64, gone bool)

	mu      sync.RWMutex
	all     map[string]kept[T]
	bad     map[string]error
	writing map[string]Draft[T] // values of writes in progress, by key
	ready   chan struct{}
}

// Draft is a value for a write at a revision, with its encoded text.
type Draft[T any] struct {
	Key   string
	Value T
	Text  []byte
	Rev   uint64
}

// NewMirror returns an empty mirror of the keys with a prefix. If parse is nil, values are JSON.
func NewMirror[T any](store fleet.Store, prefix string, parse func([]byte) (T, error)) *Mirror[T] {
	if parse == nil {
		parse = func(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }
	}
	return &Mirror[T]{Store: store, prefix: prefix, Parse: parse, ready: make(chan struct{}),
		all: map[string]kept[T]{}, bad: map[string]error{}, writing: map[string]Draft[T]{}}
}

// Follow updates the mirror until ctx ends.
func (m *Mirror[T]) Follow(ctx context.Context) error {
	var once sync.Once
	return m.Store.Watch(ctx, m.Take, func() { once.Do(func() { close(m.ready) }) })
}

// Filled is closed when the mirror has all entries that existed at the start.
func (m *Mirror[T]) Filled() <-chan struct{} { return m.ready }

// Take accepts an entry of the watch if it is newer than the value in memory.
func (m *Mirror[T]) Take(e fleet.Entry) {
	key, ours := strings.CutPrefix(e.Key, m.prefix)
	if !ours {
		return
	}
	e.Key = key
	// Most entries were written by this hub, and decoding them again is expensive.
	if _, rev, known := m.Get(key); known && e.Rev <= rev {
		return
	}
	var v T
	var err error
	if !e.Gone {
		v, err = m.Read(e)
	}
	m.accept(e, v, err)
}

// Read decodes an entry. It uses the value of a write in progress if there is one, because the
// watch may report the entry before the write returns.
func (m *Mirror[T]) Read(e fleet.Entry) (T, error) {
	m.mu.RLock()
	w, own := m.writing[e.Key]
	m.mu.RUnlock()
	if own && bytes.Equal(w.Text, e.Value) {
		return w.Value, nil
	}
	return m.Parse(e.Value)
}

// accept stores a decoded entry, unless it is outdated.
func (m *Mirror[T]) accept(e fleet.Entry, v T, err error) {
	m.mu.Lock()
	old, was := m.all[e.Key]
	stale := was && e.Rev <= old.rev
	switch {
	case stale:
	case err != nil:
		m.bad[e.Key] = fmt.Errorf("cannot read %s: %w", e.Key, err)
		delete(m.all, e.Key)
	case e.Gone:
		delete(m.all, e.Key)
		delete(m.bad, e.Key)
	default:
		m.all[e.Key] = kept[T]{v, e.Rev}
		delete(m.bad, e.Key)
	}
	m.mu.Unlock()
	if !stale && err == nil && m.Changed != nil {
		m.Changed(e.Key, v, e.Rev, e.Gone)
	}
}

// Get returns the value of a key in memory and its revision in the store.
func (m *Mirror[T]) Get(key string) (value T, rev uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.all[key]
	return k.value, k.rev, ok
}

// Learn reads a key from the store into the mirror. found is false if the key does not exist.
func (m *Mirror[T]) Learn(ctx context.Context, key string) (found bool, err error) {
	e, err := m.Newest(ctx, key)
	if errors.Is(err, fleet.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		m.Take(e)
	}
	return err == nil, err
}

// Remove deletes a key at any revision. A missing key is not an error.
func (m *Mirror[T]) Remove(ctx context.Context, key string) error {
	if err := m.Store.Delete(ctx, m.prefix+key, 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return nil
}

// Each calls f for every value, sorted by key. It does not hold the lock during f.
func (m *Mirror[T]) Each(f func(key string, value T, rev uint64)) {
	m.mu.RLock()
	all := maps.Clone(m.all)
	m.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f(key, all[key].value, all[key].rev)
	}
}

// Values returns all values, sorted by key.
func (m *Mirror[T]) Values() []T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]T, 0, len(m.all))
	for _, key := range slices.Sorted(maps.Keys(m.all)) {
		out = append(out, m.all[key].value)
	}
	return out
}

// Unreadable returns the errors of entries that cannot be decoded, sorted by key.
func (m *Mirror[T]) Unreadable() []error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []error
	for _, key := range slices.Sorted(maps.Keys(m.bad)) {
		out = append(out, m.bad[key])
	}
	return out
}

// Put writes a value if the stored revision is rev; 0 means that the key must not exist. Otherwise
// it returns fleet.ErrConflict. The caller must no longer modify the value.
func (m *Mirror[T]) Put(ctx context.Context, key string, v T, rev uint64) error {
	format := m.Format
	if format == nil {
		format = func(v T) ([]byte, error) { return json.Marshal(v) }
	}
	text, err := format(v)
	if err != nil {
		return err
	}
	return m.Write(ctx, Draft[T]{key, v, text, rev})
}

// Write is like Put, but takes an encoded value.
func (m *Mirror[T]) Write(ctx context.Context, d Draft[T]) error {
	defer m.begin(d)()
	newer, err := m.Store.Update(ctx, m.prefix+d.Key, d.Text, d.Rev)
	if err == nil {
		m.accept(fleet.Entry{Key: d.Key, Rev: newer}, d.Value, nil)
	}
	return err
}

// WriteAll writes all drafts or none. After an error the caller may write them one by one.
func (m *Mirror[T]) WriteAll(ctx context.Context, all []Draft[T]) error {
	store, ok := m.Store.(fleet.Batcher)
	if !ok {
		return errors.ErrUnsupported
	}
	entries := make([]fleet.Entry, len(all))
	for i, d := range all {
		entries[i] = fleet.Entry{Key: m.prefix + d.Key, Value: d.Text, Rev: d.Rev}
	}
	defer m.begin(all...)()
	newer, err := store.UpdateAll(ctx, entries)
	if err != nil {
		return err
	}
	for i, d := range all {
		m.accept(fleet.Entry{Key: d.Key, Rev: newer[i]}, d.Value, nil)
	}
	return nil
}

// begin registers writes in progress until end is called.
func (m *Mirror[T]) begin(all ...Draft[T]) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range all {
		m.writing[d.Key] = d
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, d := range all {
			delete(m.writing, d.Key)
		}
	}
}

// Change reads a value, applies change and writes the result. If another write was faster, it starts
// again, so change may be called several times. If change fails, Change returns its error.
func (m *Mirror[T]) Change(ctx context.Context, key string, change func(*T) error) (T, error) {
	for {
		e, err := m.Newest(ctx, key)
		if err != nil {
			var none T
			return none, err
		}
		v, err := m.Parse(e.Value)
		if err == nil {
			err = change(&v)
		}
		if err == nil {
			err = m.Put(ctx, key, v, e.Rev)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return v, err
		}
	}
}

// Newest reads a key from the store. A mirror is never newer than its store. If the key is missing
// or older in the answer, a former leader of the store answered, or the key was just removed:
// Newest then reads again, for at most 20 seconds.
func (m *Mirror[T]) Newest(ctx context.Context, key string) (fleet.Entry, error) {
	for began := time.Now(); ; {
		_, had, known := m.Get(key)
		e, err := m.Entry(ctx, key)
		missing := errors.Is(err, fleet.ErrNotFound)
		if !known || err != nil && !missing || err == nil && e.Rev >= had {
			return e, err
		}
		if time.Since(began) > newestFor {
			return fleet.Entry{}, fmt.Errorf("cannot read %s: %w with the latest state", m.prefix+key, fleet.ErrNoAnswer)
		}
		select {
		case <-ctx.Done():
			return fleet.Entry{}, ctx.Err()
		case <-time.After(newestPause):
		}
	}
}

// A server that lost its majority stops leading within newestFor.
const (
	newestFor   = 20 * time.Second
	newestPause = 100 * time.Millisecond
)

// Absent checks that a key does not exist. If the store is not a fleet.Prover, it returns nil without
// a check. A decision that needs a missing key and cannot be repeated must not rely on a read: see
// fleet.Store.
func Absent(ctx context.Context, s fleet.Store, key string) error {
	if p, ok := s.(fleet.Prover); ok {
		return p.Absent(ctx, key)
	}
	return nil
}

// Entry reads a key from the store. Unlike Newest, it may return the entry of a former leader of the
// store.
func (m *Mirror[T]) Entry(ctx context.Context, key string) (fleet.Entry, error) {
	return m.Store.Get(ctx, m.prefix+key)
}

// Absent returns nil if the store can prove that a key does not exist, see [Absent].
func (m *Mirror[T]) Absent(ctx context.Context, key string) error {
	return Absent(ctx, m.Store, m.prefix+key)
}

// RemoveAt deletes a key at a revision. Otherwise it returns fleet.ErrConflict.
func (m *Mirror[T]) RemoveAt(ctx context.Context, key string, rev uint64) error {
	return m.Store.Delete(ctx, m.prefix+key, rev)
}

// StoredRev returns the revision of a key in the store, or 0 if it does not exist.
func (m *Mirror[T]) StoredRev(ctx context.Context, key string) (uint64, error) {
	e, err := m.Entry(ctx, key)
	if errors.Is(err, fleet.ErrNotFound) {
		return 0, nil
	}
	return e.Rev, err
}

// Raw decodes a value that is text itself.
func Raw(b []byte) ([]byte, error) { return b, nil }

// StatusTimeout limits a status query to the store. While most hubs are down, the store does not answer,
// and the caller then reports this.
const StatusTimeout = 5 * time.Second
