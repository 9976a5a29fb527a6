package bustest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// conformTogether: many keys are written as one, each at its revision, or not at all. A watcher
// receives each key once. The test is skipped for a store without this ability.
func conformTogether(t *testing.T, ctx context.Context, b Bus) {
	s := b.Store("things")
	together, ok := s.(fleet.Batcher)
	if !ok {
		t.Skip("it writes one by one")
	}
	if _, err := together.UpdateAll(ctx, nil); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	told := make(chan fleet.Entry, 10*fleet.MaxUpdateAll)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go func() { _ = s.Watch(watching, func(e fleet.Entry) { told <- e }, func() {}) }()
	var all []fleet.Entry
	for i := range fleet.MaxUpdateAll {
		all = append(all, fleet.Entry{Key: fmt.Sprintf("k%03d", i), Value: noise(uint64(i), 100)})
	}
	for range 2 {
		newer := must[[]uint64](t)(together.UpdateAll(ctx, all))
		for i := range all {
			if all[i].Rev = newer[i]; i > 0 && newer[i] <= newer[i-1] {
				t.Fatalf("revision %d after %d", newer[i], newer[i-1])
			}
			if e := <-told; e.Key != all[i].Key || e.Rev != newer[i] || !slices.Equal(e.Value, all[i].Value) || e.Gone {
				t.Fatalf("told of %s at %d, not of %s at %d", e.Key, e.Rev, all[i].Key, newer[i])
			}
		}
	}
	if e := must[fleet.Entry](t)(s.Get(ctx, all[7].Key)); e.Rev != all[7].Rev || !slices.Equal(e.Value, all[7].Value) {
		t.Errorf("read %+v", e)
	}
	one := must[uint64](t)(s.Update(ctx, "k001", []byte("x"), all[1].Rev))
	_, err := together.UpdateAll(ctx, all[:3])
	wantErr(t, "a key with another revision", err, fleet.ErrConflict)
	if e := must[fleet.Entry](t)(s.Get(ctx, "k000")); e.Rev != all[0].Rev {
		t.Error("a part was written")
	}
	for what, bad := range map[string][]fleet.Entry{"a wrong key": {all[0], {Key: "a b"}},
		"too many": append(slices.Clone(all), fleet.Entry{Key: "more"})} {
		if _, err := together.UpdateAll(ctx, bad); err == nil {
			t.Errorf("took %s", what)
		}
	}
	must[uint64](t)(s.Update(ctx, "k001", []byte("y"), one))
	if newer, err := together.UpdateAll(ctx, nil); len(newer) > 0 || err != nil {
		t.Errorf("nothing: %v, %v", newer, err)
	}
}
