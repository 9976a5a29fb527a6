package assignments

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// tallied is a store that counts its kinds of writes, and can refuse batches.
type tallied struct {
	*bustest.Store
	once, together atomic.Int32
	alone          bool
}

func (c *tallied) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	c.once.Add(1)
	return c.Store.Update(ctx, key, value, rev)
}

func (c *tallied) UpdateAll(ctx context.Context, all []fleet.Entry) ([]uint64, error) {
	if c.alone {
		return nil, errors.ErrUnsupported
	}
	c.together.Add(1)
	return c.Store.UpdateAll(ctx, all)
}

// TestWrite: assignments are written in one batch. If the store refuses the batch, or one of them
// was changed, they are written one by one. An assignment of a newer leader is never overwritten.
func TestWrite(t *testing.T) {
	s, store := giving(t)
	var all []fleet.Assignment
	for i := range 3 {
		a := large(3)
		a.Target = fleet.TargetID(strings.Repeat("a", 25) + string("aei"[i]))
		a.Name = fmt.Sprintf("web%d", i)
		all = append(all, a)
	}
	give := func(fence uint64, generation uint64) error {
		for i := range all {
			all[i].Generation = generation
		}
		return s.Write(t.Context(), fence, all)
	}
	if err := give(1, 1); err != nil || store.together.Load() != 1 || store.once.Load() != 0 {
		t.Fatalf("%v; %d and %d", err, store.together.Load(), store.once.Load())
	}
	key := string(all[1].Target)
	e, err := store.Get(t.Context(), key)
	if err == nil {
		_, err = store.Put(t.Context(), key, e.Value)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := give(1, 2); err != nil || store.once.Load() != 4 {
		t.Errorf("beside somebody else: %v; %d one by one", err, store.once.Load())
	}
	store.alone = true
	if err := give(2, 3); err != nil {
		t.Errorf("one by one: %v", err)
	}
	for _, a := range all {
		if e, err := store.Get(t.Context(), string(a.Target)); err != nil {
			t.Error(err)
		} else if g, err := s.Parse(e.Value); err != nil || g.Assignment.Generation != 3 ||
			g.Fence != 2 || g.Assignment.Name != a.Name {
			t.Errorf("%s: %+v, %v", a.Name, g.Assignment, err)
		}
	}
	// A hub whose mirror does not have the last assignments.
	s.Records.Assignments = records.NewMirror(s.Records.Assignments.Store, "", s.Parse)
	if err := give(1, 4); !errors.Is(err, ErrDeposed) {
		t.Errorf("a hub that does not lead any more: %v", err)
	}
}

// giving returns a store of assignments with its bucket.
func giving(t *testing.T) (*Store, *tallied) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, store := newStore(t, key), &tallied{Store: bustest.NewStore()}
	s.Records.Assignments = records.NewMirror(fleet.Store(store), "", s.Parse)
	s.Records.Assignments.Format = s.Pack
	return s, store
}
