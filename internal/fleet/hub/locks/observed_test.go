package locks

import (
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/coordination"
)

// TestClockOfAHubJumps: a hub whose clock jumped frees no slot of a host that renews its lease, and frees it after the
// lease of a host that does not. A hub that started a moment ago must see the whole lease.
func TestClockOfAHubJumps(t *testing.T) {
	store := bustest.NewStore()
	hubs, jumps := []*Locks{hubOver(t, store), hubOver(t, store)}, []time.Duration{0, 0}
	uptime := time.Duration(0)
	for i, s := range hubs {
		s.Now = func() time.Time { return noon.Add(uptime + jumps[i]) }
		s.Uptime = func() time.Duration { return uptime }
	}
	d := reboots(1)
	d.OnExpiry, d.Lease = coordination.Free, time.Minute
	declare(t, hubs[0], d)
	mustAcquire(t, hubs[0], "web1")
	full := func(s *Locks, owner string) {
		t.Helper()
		refused := (*RefusedError)(nil)
		if _, err := s.Acquire(t.Context(), "reboots", owner); !errors.As(err, &refused) {
			t.Errorf("after %s: %s gets a slot: %v", uptime, owner, err)
		}
	}
	full(hubs[1], "web2") // the other hub sees the lease
	jumps[1] = 24 * time.Hour
	full(hubs[1], "web2")
	jumps[1] = -24 * time.Hour
	mustAcquire(t, hubs[1], "web1") // the lease ends in the past for the first hub
	full(hubs[0], "web2")
	uptime = 2*time.Minute - 1
	full(hubs[0], "web2")
	late := hubOver(t, store)
	late.Uptime, late.Now = hubs[0].Uptime, hubs[0].Now
	full(late, "web2")
	uptime = 2 * time.Minute
	full(late, "web2")
	mustAcquire(t, hubs[0], "web2")
}
