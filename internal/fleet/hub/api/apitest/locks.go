package apitest

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// lockNoon is the time of Now, in ns since 1970.
const lockNoon = 1795234917 * int64(time.Second)

// Locks are a lock for reboots with an overdue holder, and a lock without holders.
type Locks struct{}

// Locks implements api.Locks.
func (Locks) Locks(context.Context) (document.LockPage, error) {
	at := func(minutes int64) int64 { return lockNoon + minutes*int64(time.Minute) }
	return document.LockPage{Format: document.LockPageFormat, Locks: []document.Lock{
		{Name: "migrations", Slots: 1, Lease: int64(time.Hour), OnExpiry: "free", Holders: []document.LockHolder{},
			Waiting: []document.LockWaiter{}},
		{Name: "reboots", Slots: 2, Taken: 2, Lease: int64(30 * time.Minute), OnExpiry: "keep",
			Holders: []document.LockHolder{
				{Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Token: 1, Since: at(-50), Expires: at(-20),
					State: document.SlotOverdue},
				{Target: "baaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web2", Token: 2, Since: at(-5), Expires: at(25),
					State: document.SlotHeld}},
			Waiting: []document.LockWaiter{{Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Name: "db1", Since: at(-12), Asked: at(0)}}},
	}}, nil
}
