package api

import (
	"context"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// constantLocks are locks that never change.
type constantLocks []document.Lock

func (c constantLocks) Locks(context.Context) (document.LockPage, error) {
	return document.LockPage{Locks: c}, nil
}

// TestLockWaits: the explanation of a target has the locks for which it waits, without former holders.
func TestLockWaits(t *testing.T) {
	b := constantLocks{{Name: "migrations"}, {Name: "reboots",
		Holders: []document.LockHolder{{Name: "web1", State: document.SlotOverdue}, {Name: "web2", State: document.SlotLost}},
		Waiting: []document.LockWaiter{{Target: "db1", Since: 5}, {Target: "db2", Since: 7}}}}
	got, err := lockWaits(t.Context(), b, "db2")
	if err != nil || len(got) != 1 || got[0].Lock != "reboots" || got[0].Since != 7 || len(got[0].Holders) != 1 ||
		got[0].Holders[0].Name != "web1" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := lockWaits(t.Context(), b, "web1"); got == nil || len(got) != 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
