package hub

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

// mirror is a bucket in memory, kept current by a watch of the store. Reading never blocks on the
// store. A write through the mirror is visible in it when the write returns. It is safe for
// concurrent use.
type mirror[T any] struct {
	store  fleet.Store
	prefix string // of the keys in the store; keys of the mirror omit it
	// parse decodes a value. The mirror omits values that it refuses, see unreadable.
	parse func([]byte) (T, error)
	// format encodes a value; nil means JSON.
	format func(T) ([]byte, error)
	// changed is called without the lock after each change. A removed key has the zero value and
	// gone set. It may be nil.
	changed func(key string, value T, rev uint64, gone bool)

	mu      sync.RWMutex
	all     map[string]kept[T]
	bad     map[string]error
	writing map[string]draft[T] // values of writes in progress, by key
	ready   chan struct{}
}

// draft is a value for a write at a revision, with its encoded text.
type draft[T any] struct {
	key   string
	value T
	text  []byte
	rev   uint64
}

func newMirror[T any](store fleet.Store, prefix string, parse func([]byte) (T, error)) *mirror[T] {
	if parse == nil {
		parse = func(b []byte) (v T, err error) { return v, json.Unmarshal(b, &v) }
	}
	return &mirror[T]{store: store, prefix: prefix, parse: parse, all: map[string]kept[T]{}, bad: map[string]error{}, writing: map[string]draft[T]{}, ready: make(chan struct{})}
}

// follow updates the mirror until ctx ends.
func (m *mirror[T]) follow(ctx context.Context) error {
	var once sync.Once
	return m.store.Watch(ctx, m.take, func() { once.Do(func() { close(m.ready) }) })
}

// filled is closed when the mirror has all entries that existed at the start.
func (m *mirror[T]) filled() <-chan struct{} { return m.ready }

// take accepts an entry of the watch if it is newer than the value in memory.
func (m *mirror[T]) take(e fleet.Entry) {
	key, ours := strings.CutPrefix(e.Key, m.prefix)
	if !ours {
		return
	}
	e.Key = key
	// Most entries were written by this hub, and decoding them again is expensive.
	if _, rev, known := m.get(key); known && e.Rev <= rev {
		return
	}
	var v T
	var err error
	if !e.Gone {
		v, err = m.read(e)
	}
	m.accept(e, v, err)
}

// read decodes an entry. It uses the value of a write in progress if there is one, because the
// watch may report the entry before the write returns.
func (m *mirror[T]) read(e fleet.Entry) (T, error) {
	m.mu.RLock()
	w, own := m.writing[e.Key]
	m.mu.RUnlock()
	if own && bytes.Equal(w.text, e.Value) {
		return w.value, nil
	}
	return m.parse(e.Value)
}

// accept stores a decoded entry, unless it is outdated.
func (m *mirror[T]) accept(e fleet.Entry, v T, err error) {
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
	if !stale && err == nil && m.changed != nil {
		m.changed(e.Key, v, e.Rev, e.Gone)
	}
}

func (m *mirror[T]) get(key string) (value T, rev uint64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.all[key]
	return k.value, k.rev, ok
}

// remove deletes a key at any revision. A missing key is not an error.
func (m *mirror[T]) remove(ctx context.Context, key string) error {
	if err := m.store.Delete(ctx, m.prefix+key, 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return nil
}

// each calls f for every value, sorted by key. It does not hold the lock during f.
func (m *mirror[T]) each(f func(key string, value T, rev uint64)) {
	m.mu.RLock()
	all := maps.Clone(m.all)
	m.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f(key, all[key].value, all[key].rev)
	}
}

// values returns all values, sorted by key.
func (m *mirror[T]) values() []T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make([]T, 0, len(m.all))
	for _, key := range slices.Sorted(maps.Keys(m.all)) {
		out = append(out, m.all[key].value)
	}
	return out
}

// unreadable returns the errors of entries that cannot be decoded, sorted by key.
func (m *mirror[T]) unreadable() []error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []error
	for _, key := range slices.Sorted(maps.Keys(m.bad)) {
		out = append(out, m.bad[key])
	}
	return out
}

// put writes a value if the stored revision is rev; 0 means that the key must not exist. Otherwise
// it returns fleet.ErrConflict. The caller must no longer modify the value.
func (m *mirror[T]) put(ctx context.Context, key string, v T, rev uint64) error {
	format := m.format
	if format == nil {
		format = func(v T) ([]byte, error) { return json.Marshal(v) }
	}
	text, err := format(v)
	if err != nil {
		return err
	}
	return m.write(ctx, draft[T]{key, v, text, rev})
}

// write is put for a value that is encoded already.
func (m *mirror[T]) write(ctx context.Context, d draft[T]) error {
	defer m.begin(d)()
	newer, err := m.store.Update(ctx, m.prefix+d.key, d.text, d.rev)
	if err == nil {
		m.accept(fleet.Entry{Key: d.key, Rev: newer}, d.value, nil)
	}
	return err
}

// writeAll writes all drafts or none. After an error the caller may write them one by one.
func (m *mirror[T]) writeAll(ctx context.Context, all []draft[T]) error {
	store, ok := m.store.(fleet.Batcher)
	if !ok {
		return errors.ErrUnsupported
	}
	entries := make([]fleet.Entry, len(all))
	for i, d := range all {
		entries[i] = fleet.Entry{Key: m.prefix + d.key, Value: d.text, Rev: d.rev}
	}
	defer m.begin(all...)()
	newer, err := store.UpdateAll(ctx, entries)
	if err != nil {
		return err
	}
	for i, d := range all {
		m.accept(fleet.Entry{Key: d.key, Rev: newer[i]}, d.value, nil)
	}
	return nil
}

// begin registers writes in progress until end is called.
func (m *mirror[T]) begin(all ...draft[T]) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range all {
		m.writing[d.key] = d
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, d := range all {
			delete(m.writing, d.key)
		}
	}
}

// change reads a value, applies change and writes it, until no other write was faster. It may call
// change several times. An error of change ends it.
func (m *mirror[T]) change(ctx context.Context, key string, change func(*T) error) (T, error) {
	for {
		e, err := m.newest(ctx, key)
		if err != nil {
			var none T
			return none, err
		}
		v, err := m.parse(e.Value)
		if err == nil {
			err = change(&v)
		}
		if err == nil {
			err = m.put(ctx, key, v, e.Rev)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return v, err
		}
	}
}

// newest reads a key from the store. A mirror is never newer than its store. If the key is missing
// or older in the answer, a former leader of the store answered, or the key was just removed:
// newest then reads again, for at most newestFor.
func (m *mirror[T]) newest(ctx context.Context, key string) (fleet.Entry, error) {
	for began := time.Now(); ; {
		_, had, known := m.get(key)
		e, err := m.store.Get(ctx, m.prefix+key)
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

// absent returns nil if the store can prove that a key does not exist, or cannot prove absence at
// all. A decision that needs a missing key and cannot be repeated must not rely on a read: see
// fleet.Store.
func absent(ctx context.Context, s fleet.Store, key string) error {
	if p, ok := s.(fleet.Prover); ok {
		return p.Absent(ctx, key)
	}
	return nil
}

// storedRev returns the revision of a key in the store, or 0 if it does not exist.
func (m *mirror[T]) storedRev(ctx context.Context, key string) (uint64, error) {
	e, err := m.store.Get(ctx, m.prefix+key)
	if errors.Is(err, fleet.ErrNotFound) {
		return 0, nil
	}
	return e.Rev, err
}

func unless[T any](gone bool, v *T) *T {
	if gone {
		return nil
	}
	return v
}

// followed is the part of a mirror that Run uses.
type followed interface {
	follow(ctx context.Context) error
	filled() <-chan struct{}
}
