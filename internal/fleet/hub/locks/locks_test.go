package locks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

var background = context.Background()

// texts returns the texts of all events of a hub.
func texts(t *testing.T, s *Locks) string {
	t.Helper()
	var out []string
	for _, r := range s.Events.Log.(*bustest.Log).Records() {
		e, err := fleet.ParseHubEvent(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.By+": "+e.Text)
	}
	return strings.Join(out, "\n")
}

func mustAcquire(t *testing.T, s *Locks, owner string) coordination.Holder {
	t.Helper()
	h, err := s.Acquire(t.Context(), "reboots", owner)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDeclaredLocks(t *testing.T) {
	store := bustest.NewStore()
	s := hubOver(t, store)
	if _, err := s.Acquire(t.Context(), "reboots", "web1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown lock: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "../x", "web1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a name that is not possible: %v", err)
	}
	if err := s.tidy(t.Context()); err != nil { // no commit was read
		t.Error(err)
	}
	declare(t, s, reboots(1))
	mustAcquire(t, s, "web1")
	refused := (*RefusedError)(nil)
	if _, err := s.Acquire(t.Context(), "reboots", "web2"); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "the slot of the lock reboots is taken") {
		t.Errorf("a full lock: %v", err)
	}
	declare(t, s, reboots(2))
	mustAcquire(t, s, "web2")
	declare(t, s)
	if _, err := s.Acquire(t.Context(), "reboots", "web3"); !errors.As(err, &refused) ||
		refused.Refused != coordination.Undeclared {
		t.Errorf("an undeclared lock: %v", err)
	}
	for _, owner := range []string{"web1", "web2"} {
		if err := s.Release(t.Context(), "reboots", owner, "kim", "it is gone"); err != nil {
			t.Error(err)
		}
	}
	declare(t, s)
	bustest.Await(t, "the lock remains", func() bool { return len(s.Records.Locks.Values()) == 0 })
	for _, want := range []string{"declared with 1 slot and", "declared with 2 slots", "no longer declared",
		"hub hub1: lock reboots: slot acquired", "kim: lock reboots: the slot was released by order of a user: it is gone"} {
		if got := texts(t, s); !strings.Contains(got, want) {
			t.Errorf("no event %q in\n%s", want, got)
		}
	}
}

// TestEndOfALease: the leading hub records the end of a lease once.
func TestEndOfALease(t *testing.T) {
	s := hubOver(t, bustest.NewStore())
	declare(t, s, reboots(1))
	mustAcquire(t, s, "web1")
	s.Now = func() time.Time { return noon.Add(2 * time.Hour) }
	for range 3 {
		if err := s.tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := texts(t, s); strings.Count(got, "the lease ended at 2026-06-01T13:00:00Z without a release") != 1 {
		t.Errorf("the events are\n%s", got)
	}
}

// TestRestoredStore: the epoch contains the time of the restoration.
func TestRestoredStore(t *testing.T) {
	s := hubOver(t, bustest.NewStore())
	declare(t, s, reboots(1))
	err := s.Records.Epochs.Put(t.Context(), records.EpochKey, records.Epoch{Restored: noon.Unix() - 60}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "reboots", "web1"); err == nil ||
		!strings.Contains(err.Error(), "again at 2026-06-01T12:59:00Z") {
		t.Errorf("%v", err)
	}
}

// outdated is a store that answers one read with an older entry.
type outdated struct {
	fleet.Store
	entry fleet.Entry
}

func (o *outdated) Get(ctx context.Context, key string) (e fleet.Entry, err error) {
	e, o.entry = o.entry, fleet.Entry{}
	if e.Rev != 0 {
		return e, nil
	}
	return o.Store.Get(ctx, key)
}

// TestReleaseAfterAnOutdatedRead: a hub reads the state before the grant, and must nevertheless release the slot.
func TestReleaseAfterAnOutdatedRead(t *testing.T) {
	store := bustest.NewStore()
	first := hubOver(t, store)
	declare(t, first, reboots(1))
	before, err := store.Get(t.Context(), "lock/reboots")
	if err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, first, "web1")
	second := New(first.Config) // its mirror is empty
	second.Records = &records.Table{}
	second.Records.Locks = records.NewMirror(fleet.Store(&outdated{store, before}), "lock/", records.ParseLock)
	second.Records.Epochs = first.Records.Epochs
	if err := second.Release(t.Context(), "reboots", "web1", "", ""); err != nil {
		t.Fatal(err)
	}
	if got := holders(first); got != "" {
		t.Errorf("%q hold slots", got)
	}
}

// TestLockOfANewerVersion: a hub does not grant slots of a lock that it cannot read.
func TestLockOfANewerVersion(t *testing.T) {
	store := bustest.NewStore()
	s := hubOver(t, store)
	if _, err := store.Put(t.Context(), "lock/reboots", []byte(`{"format":"fettle.lock/9"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "reboots", "web1"); err == nil || !strings.Contains(err.Error(), "format") {
		t.Errorf("%v", err)
	}
	s.declared.set([]coordination.Definition{reboots(1)})
	if err := s.tidy(t.Context()); err == nil {
		t.Error("no error for a lock of a newer version")
	}
}
