package locks

import (
	"context"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// readOnly is a store that accepts no changes.
type readOnly struct{ fleet.Store }

func (readOnly) Update(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, fleet.ErrNoAnswer
}

// TestWaitingTargets: each hub lists the targets that any hub refused. A refusal that cannot be stored is still a
// refusal.
func TestWaitingTargets(t *testing.T) {
	store := bustest.NewStore()
	first, second := hubOver(t, store), hubOver(t, store)
	declare(t, first, reboots(1))
	mustAcquire(t, first, "web1")
	before := texts(t, first)
	waiting := func() (out string) {
		all, err := Service{second}.Locks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all.Locks {
			for _, w := range l.Waiting {
				out += string(w.Target) + " "
			}
		}
		return out
	}
	refuse := func(s *Locks, owner string) {
		t.Helper()
		refused := (*RefusedError)(nil)
		_, err := s.Acquire(t.Context(), "reboots", owner)
		if !errors.As(err, &refused) || refused.Refused != coordination.Full {
			t.Errorf("%s: %v", owner, err)
		}
	}
	refuse(first, "web2")
	bustest.Await(t, "web2 is listed", func() bool { return waiting() == "web2 " })
	broken := New(first.Config)
	broken.Records = &records.Table{}
	broken.Records.Locks = records.NewMirror(fleet.Store(readOnly{store}), "lock/", records.ParseLock)
	broken.Records.Epochs = first.Records.Epochs
	refuse(broken, "web3")
	if got := texts(t, first); got != before {
		t.Errorf("a wait is an event: %s", got)
	}
	if err := first.Release(t.Context(), "reboots", "web1", "", ""); err != nil {
		t.Fatal(err)
	}
	mustAcquire(t, first, "web2")
	bustest.Await(t, "web2 is not listed", func() bool { return waiting() == "" })
}
