package records

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// A mirror is never newer than the store: an older answer of the store is read again.
func TestMirrorOfAStoreThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &bustest.Behind{Store: bustest.NewStore()}
		m := NewMirror[int](fleet.Store(store), "", nil)
		if err := m.Put(t.Context(), "a", 1, 0); err != nil {
			t.Fatal(err)
		}
		store.Reads.Store(2)
		if v, err := m.Change(t.Context(), "a", func(v *int) error { *v++; return nil }); err != nil || v != 2 {
			t.Errorf("%d, %v", v, err)
		}
		store.Reads.Store(1 << 20)
		if _, err := m.Change(t.Context(), "a", func(*int) error { return nil }); !errors.Is(err, fleet.ErrNoAnswer) {
			t.Errorf("without an end: %v", err)
		}
		m.Take(fleet.Entry{Key: "a", Rev: 9, Gone: true})
		if _, err := m.Change(t.Context(), "a", func(*int) error { return nil }); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("of a key that was removed: %v", err)
		}
	})
}

// A mirror accepts newer entries, reports unreadable ones, and removes deleted ones.
func TestMirror(t *testing.T) {
	store := bustest.NewStore()
	m := NewMirror[int](store, "n/", nil)
	var told []string
	m.Changed = func(key string, v int, _ uint64, gone bool) { told = append(told, fmt.Sprint(key, v, " ", gone)) }
	m.Take(fleet.Entry{Key: "other/a", Value: []byte("1"), Rev: 1})
	m.Take(fleet.Entry{Key: "n/a", Value: []byte("1"), Rev: 2})
	m.Take(fleet.Entry{Key: "n/a", Value: []byte("0"), Rev: 1}) // late
	m.Take(fleet.Entry{Key: "n/b", Value: []byte("?"), Rev: 3})
	if got := m.Values(); len(got) != 1 || got[0] != 1 || len(m.Unreadable()) != 1 {
		t.Errorf("%v, %v", got, m.Unreadable())
	}
	m.Take(fleet.Entry{Key: "n/b", Value: []byte("2"), Rev: 4})
	m.Take(fleet.Entry{Key: "n/a", Rev: 5, Gone: true})
	if got := m.Values(); len(got) != 1 || got[0] != 2 || len(m.Unreadable()) != 0 {
		t.Errorf("%v, %v", got, m.Unreadable())
	}
	if want := []string{"a1 false", "b2 false", "a0 true"}; !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	if err := m.Put(t.Context(), "c", 7, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(t.Context(), "c", 8, 0); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("%v", err)
	}
	if v, err := m.Change(t.Context(), "c", func(v *int) error { *v++; return nil }); err != nil || v != 8 {
		t.Errorf("%d, %v", v, err)
	}
}

// TestOwnWrites: a mirror does not decode entries of its own writes, but those of concurrent writes
// of other hubs.
func TestOwnWrites(t *testing.T) {
	parsed := 0
	m := NewMirror(bustest.NewStore(), "", func(b []byte) (string, error) {
		parsed++
		return string(b), nil
	})
	end := m.begin(Draft[string]{Key: "a", Value: "the same", Text: []byte("1")})
	if v, err := m.Read(fleet.Entry{Key: "a", Value: []byte("1")}); v != "the same" || err != nil || parsed != 0 {
		t.Errorf("%q, %v, parsed %d", v, err, parsed)
	}
	if v, err := m.Read(fleet.Entry{Key: "a", Value: []byte("2")}); v != "2" || err != nil || parsed != 1 {
		t.Errorf("of another: %q, %v, parsed %d", v, err, parsed)
	}
	end()
	if v, err := m.Read(fleet.Entry{Key: "a", Value: []byte("1")}); v != "1" || err != nil || len(m.writing) != 0 {
		t.Errorf("later: %q, %v", v, err)
	}
}
