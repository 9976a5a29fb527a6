package slots

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestKilledAgent: a run continues with its slots after the agent was started again.
func TestKilledAgent(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	web1.busy.Store(true)
	s := web1.run().acquire(t, "a")
	web1.stop()
	h.now.Add(30_000)
	web1.start()
	end := func() int64 { h.mu.Lock(); defer h.mu.Unlock(); return h.locks["a"].Holders[0].Renewed }
	await(t, "the next process of the agent renews the lease", func() bool { return end() == h.now.Load() })
	select {
	case <-s.Lost():
		t.Error("the run is stopped")
	default:
	}
	web1.busy.Store(false)
	s.Release()
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}

// TestKilledAgentWithoutHub: the next process of the agent does not release the slots of a run that still works, also
// if a hub without a majority cannot renew them at first.
func TestKilledAgentWithoutHub(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	web1.busy.Store(true)
	s := web1.run().acquire(t, "a")
	web1.stop()
	web1.refuse.Store(true)
	asked := web1.asked.Load()
	web1.start()
	await(t, "the run asks again", func() bool { return web1.asked.Load() >= asked+10 })
	if h.owners("a") != "web1" {
		t.Error("the slot is free while the run works")
	}
	h.now.Add(30_000)
	web1.refuse.Store(false)
	end := func() int64 { h.mu.Lock(); defer h.mu.Unlock(); return h.locks["a"].Holders[0].Renewed }
	await(t, "the lease is renewed", func() bool { return end() == h.now.Load() })
	select {
	case <-s.Lost():
		t.Error("the run is stopped")
	default:
	}
	web1.busy.Store(false)
	s.Release()
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}

// TestDelayedRelease: a release of an earlier run that arrives late does not free the slot of the present run.
func TestDelayedRelease(t *testing.T) {
	h := newHub("", 1, "a")
	web1 := newTarget(t, h, "web1")
	web1.busy.Store(true) // the agent does not release the slot again
	first := web1.run().acquire(t, "a")
	web1.late.Store(&fleet.SlotRequest{})
	first.Release()
	late := web1.late.Swap(nil)
	second := web1.run().acquire(t, "a")
	if late.Lock != "a" {
		t.Fatalf("the agent sent %+v", late)
	}
	if _, err := h.ask("web1", *late); err != nil || h.owners("a") != "web1" {
		t.Errorf("the owner is %q: %v", h.owners("a"), err)
	}
	web1.busy.Store(false)
	second.Release()
	await(t, "the slot is free", func() bool { return h.owners("a") == "" })
}
