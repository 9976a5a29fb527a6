package rollout_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// waits returns the reasons why a host must not get a part yet.
func (f *fleet) waits(h *host) map[string]string {
	if !f.after || h.lane != "main" || f.head["db"] == "" {
		return nil
	}
	for _, other := range f.hosts {
		if other.lane == "main" && !f.dbReady(other) {
			return map[string]string{"web": "it waits for db"}
		}
	}
	return nil
}

// dbReady reports whether a host has the newest part db, and does not fail because of it.
func (f *fleet) dbReady(h *host) bool {
	return h.online && h.parts["db"] == f.head["db"] && !f.bad[f.head["db"]] &&
		(h.health == rollout.Healthy || h.health == rollout.Broken)
}

// ordered checks that no host is granted or given a part that waits. An already granted part does not wait, and a
// rollout that has both parts does not wait for itself.
func (f *fleet) ordered(id rollout.ID, c rollout.Change, why string) {
	h := f.hosts[id]
	if f.waits(h)[c.Part] != "" && c.Digest != "" {
		f.tell("%s gets %v, and other hosts are not ready: %s", id, c, why)
	}
}

// TestWebWaits: the first content arrives in order: db everywhere, then web.
func TestWebWaits(t *testing.T) {
	f := newFleet(t, 5, rollout.Careful())
	f.after, f.head["db"] = true, "d1"
	f.until(t, "both parts", func() bool {
		web, all := 0, true
		for _, h := range f.hosts {
			if all = all && h.parts["db"] == "d1"; h.parts["web"] != "" {
				web++
			}
		}
		if web > 0 && !all {
			t.Fatal("a host has web, and another one does not have db")
		}
		return web == len(f.hosts)
	})
	f.add("late")
	f.step(1)
	if f.step(1); f.hosts["late"].parts["web"] != "" {
		t.Error("a new host gets stable content before it is ready for it")
	}
	f.until(t, "the new host", func() bool { return f.hosts["late"].parts["web"] == "w1" })
}

// TestRollbackDoesNotWait: hosts return although another host lost its db.
func TestRollbackDoesNotWait(t *testing.T) {
	f := newFleet(t, 5, rollout.Careful())
	f.after, f.head["db"] = true, "d1"
	steady := func() bool { return len(f.s.Open()) == 0 && len(f.s.All()) > 1 }
	f.until(t, "the first content", steady)
	f.head["web"], f.bad["w2"] = "w2", true
	f.step(1)
	f.hosts["h00"].online = false
	f.until(t, "the rollback", steady)
	for id, h := range f.hosts {
		if h.parts["web"] != "w1" {
			t.Errorf("%s has %v", id, h.parts)
		}
	}
}

// TestDependenceOfAnOpenRollout: the dependence is declared while a rollout has both parts. The rollout goes on, also
// if a host that needs it joins.
func TestDependenceOfAnOpenRollout(t *testing.T) {
	f := newFleet(t, 5, rollout.Careful())
	f.head["db"] = "d1"
	f.step(1)
	f.after = true
	f.add("late")
	f.until(t, "both parts", func() bool {
		for _, h := range f.hosts {
			if h.parts["db"] != "d1" || h.parts["web"] != "w1" {
				return false
			}
		}
		return true
	})
}
