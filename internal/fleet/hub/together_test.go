package hub

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
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
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

// TestGiveAll: assignments are written in one batch. If the store refuses the batch, or one of them
// was changed, they are written one by one. An assignment of a newer leader is never overwritten.
func TestGiveAll(t *testing.T) {
	h, store, ctx := giving(t)
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
		return h.giveAll(ctx, fence, all)
	}
	if err := give(1, 1); err != nil || store.together.Load() != 1 || store.once.Load() != 0 {
		t.Fatalf("%v; %d and %d", err, store.together.Load(), store.once.Load())
	}
	key := string(all[1].Target)
	e, err := store.Get(ctx, key)
	if err == nil {
		_, err = store.Put(ctx, key, e.Value)
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
		if e, err := store.Get(ctx, string(a.Target)); err != nil {
			t.Error(err)
		} else if g, err := h.parseAssignmentRecord(e.Value); err != nil || g.Assignment.Generation != 3 ||
			g.Fence != 2 || g.Assignment.Name != a.Name {
			t.Errorf("%s: %+v, %v", a.Name, g.Assignment, err)
		}
	}
	h.records.Assignments = records.NewMirror(h.records.Assignments.Store, "", h.parseAssignmentRecord) // it has not heard of the last ones
	if err := give(1, 4); !errors.Is(err, errDeposed) {
		t.Errorf("a hub that does not lead any more: %v", err)
	}
}

// giving returns a hub that can only write assignments.
func giving(t *testing.T) (*Hub, *tallied, context.Context) {
	t.Helper()
	files := mem.New(mem.Options{})
	_, err := Init(InitOptions{Files: files, Dir: "/hub", Hosts: []string{"192.0.2.1"}, Now: fixed(),
		Settings: Settings{Fleet: "acme", Name: "hub1", API: "127.0.0.1:0", Bus: "127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	h := &Hub{}
	h.conf.Now = fixed
	if h.keys, err = pki.OpenHub(files, "/hub/keys"); err != nil {
		t.Fatal(err)
	}
	h.ring.keys = fleet.KeysOf(h.keys.SigningKey().Public().(ed25519.PublicKey))
	h.ring.at = fixed()
	store := &tallied{Store: bustest.NewStore()}
	h.records.Assignments = records.NewMirror(fleet.Store(store), "", h.parseAssignmentRecord)
	return h, store, t.Context()
}
