package rollout_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// fit is what a content of the parts web or db declares. A web fits a db of the same major version that has at least
// its level. Contents without a fit have the zero value. A web with the zero value fits every db, and none.
type fit struct{ major, level int }

// fits reports whether a content of web can be used with a content of db; "" means that there is none.
func (f *fleet) fits(web, db string) bool {
	w, d := f.fit[web], f.fit[db]
	return web == "" || w == fit{} || w.major == d.major && w.level <= d.level
}

// requires returns the changes that a host must have before others, or together with them.
func (f *fleet) requires(h *host, wants []rollout.Change) map[string][]rollout.Required {
	out := map[string][]rollout.Required{}
	after := map[string]string{}
	for _, c := range wants {
		after[c.Part] = c.Digest
	}
	web, changesWeb := after["web"]
	db, changesDB := after["db"]
	if !changesWeb || !changesDB {
		return nil
	}
	if !f.fits(web, h.parts["db"]) {
		out["web"] = []rollout.Required{{Part: "db", Why: "web needs another db"}}
	}
	if h.parts["web"] != "" && !f.after && f.fits(h.parts["web"], h.parts["db"]) && !f.fits(h.parts["web"], db) {
		out["db"] = []rollout.Required{{Part: "web", Why: "the present web needs the present db"}}
	}
	return out
}

// releases gives the parts new content with constraints. A breaking one changes both. A web alone needs the newest db,
// which can be held.
func (f *fleet) releases(rt *rapid.T, n int) {
	if f.fit == nil {
		f.fit = map[string]fit{}
	}
	was := f.fit[f.head["db"]]
	db, web := fmt.Sprintf("db%d", n), fmt.Sprintf("web%d", n)
	if was != (fit{}) && rapid.Bool().Draw(rt, "web alone") {
		f.fit[web], f.head["web"], f.bad[web] = was, web, false
		return
	}
	next := fit{max(was.major, 1), was.level + 1}
	breaks := !f.after && rapid.Bool().Draw(rt, "breaks")
	if breaks {
		next = fit{was.major + 1, 0}
	}
	f.fit[db], f.head["db"], f.bad[db] = next, db, rapid.IntRange(0, 3).Draw(rt, "bad db") == 0
	if breaks || !f.fits(f.head["web"], db) || rapid.Bool().Draw(rt, "web, too") {
		f.fit[web], f.head["web"], f.bad[web] = next, web, rapid.IntRange(0, 3).Draw(rt, "bad web") == 0
	}
}

// consistent gives the head a web that fits its db, as the compiler of a repository ensures.
func (f *fleet) consistent() {
	if !f.fits(f.head["web"], f.head["db"]) {
		f.head["web"] = "w1"
	}
}

// combined checks the parts of a host after a change. Only a rollback can combine contents that do not fit.
func (f *fleet) combined(h *host, was map[string]string, back bool) {
	changed := h.parts["web"] != was["web"] || h.parts["db"] != was["db"]
	if h.parts["db"] == "" && was["db"] != "" || f.after && h.parts["web"] == was["web"] {
		return // the removal of a part waits for nothing, and a db cannot wait for a web that waits for it
	}
	if was["web"] != "" && h.parts["web"] == was["web"] && !f.fits(was["web"], was["db"]) {
		return // contents that did not fit before hold no change back
	}
	if changed && !back && !f.fits(h.parts["web"], h.parts["db"]) && h.parts["web"] != "" {
		f.tell("%s has %v after %v, and they do not fit", h.id, h.parts, was)
	}
}

func newFitting(t *testing.T) *fleet {
	f := newFleet(t, 5, rollout.Careful())
	f.head["db"] = "d1"
	f.fit = map[string]fit{"d1": {1, 0}, "d2": {1, 1}, "d3": {2, 0}, "w2": {1, 1}, "w3": {2, 0}, "w4": {1, 0}}
	f.until(t, "the first content", func() bool { return len(f.s.Open()) == 0 && f.have("d1") == 5 })
	return f
}

// TestRequiredInOneRollout: changes that need each other are one rollout, and arrive together.
func TestRequiredInOneRollout(t *testing.T) {
	f := newFitting(t)
	f.head["web"], f.head["db"] = "w4", "d1"
	f.until(t, "w4", func() bool { return f.have("w4") == 5 && len(f.s.Open()) == 0 })
	n := len(f.s.All())
	f.head["web"], f.head["db"] = "w3", "d3"
	f.until(t, "both", func() bool {
		if f.have("w3") != f.have("d3") {
			t.Fatalf("w3 on %d hosts, d3 on %d", f.have("w3"), f.have("d3"))
		}
		return f.have("w3") == 5 && len(f.s.Open()) == 0
	})
	if len(f.s.All()) != n+1 {
		t.Errorf("%d rollouts, want %d:\n%s", len(f.s.All()), n+1, f.text())
	}
}

// TestRequiredIsHeld: a change waits as long as the content that it requires is held, and the reason names it.
func TestRequiredIsHeld(t *testing.T) {
	f := newFitting(t)
	f.head["db"], f.bad["d2"] = "d2", true
	f.until(t, "the hold", func() bool {
		return f.s.HeldBy("main", rollout.Change{Part: "db", Digest: "d2"}) != "" && f.have("d1") == 5
	})
	f.head["web"] = "w2"
	for range 100 {
		f.step(10)
	}
	if f.have("w2") > 0 || len(f.s.Open()) > 0 {
		t.Fatalf("%d hosts have w2:\n%s", f.have("w2"), f.text())
	}
	w := f.world()
	why := f.s.Reason(w, "h00", rollout.Change{Part: "web", Digest: "w2"})
	if why != "web needs another db: held since the rollout r2 ended" {
		t.Errorf("the reason is %q", why)
	}
	f.bad["d2"] = false
	log, err := f.s.Order(rollout.Command{Action: rollout.ToRelease, Rollout: "r2", By: "jane"}, f.now)
	if err != nil {
		t.Fatal(err)
	}
	f.log = append(f.log, log...)
	f.until(t, "both", func() bool { return f.have("w2") == 5 && f.have("d2") == 5 })
}

// TestRequiredInAnOlderRollout: a change waits for the end of an older rollout that delivers the required change. Then
// the change has its own waves.
func TestRequiredInAnOlderRollout(t *testing.T) {
	f := newFitting(t)
	f.head["db"] = "d2"
	f.until(t, "the first host", func() bool { return f.have("d2") == 1 })
	f.head["web"] = "w2"
	f.until(t, "w2", func() bool {
		if f.have("w2") > 0 && f.have("d2") < 5 {
			t.Fatalf("w2 before the end of the rollout of d2:\n%s", f.text())
		}
		return f.have("w2") == 5
	})
	r := f.s.All()[0]
	if len(r.Members) != 5 || len(r.Plan.Waves) < 2 {
		t.Errorf("the rollout has %d members in %d waves", len(r.Members), len(r.Plan.Waves))
	}
}

// TestRequiredByReturningHost: a host without contact gets both stable contents together.
func TestRequiredByReturningHost(t *testing.T) {
	f := newFitting(t)
	f.hosts["h03"].online = false
	f.head["web"], f.head["db"] = "w3", "d3"
	f.until(t, "the others", func() bool { return f.have("w3") == 4 && len(f.s.Open()) == 0 })
	f.hosts["h03"].online = true
	f.until(t, "the last host", func() bool { return f.have("w3") == 5 && f.have("d3") == 5 })
}

// TestRequiredAfterTheEnd: a member requires a change that is postponed until the end of its rollout, because a commit
// changed the order of modules meanwhile. The rollout does not wait for this member. It gets both changes afterwards.
func TestRequiredAfterTheEnd(t *testing.T) {
	for name, all := range map[string]bool{"one member": false, "all members": true} {
		f := newFitting(t)
		for _, id := range sortedHosts(f) {
			if all || id == "h03" {
				f.hosts[id].parts["web"] = "w4"
			}
		}
		f.after, f.head["db"], f.head["web"] = true, "d3", "w3"
		f.step(1)
		f.after = false
		begin := f.now
		f.until(t, name, func() bool { return f.have("w3") == 5 && f.have("d3") == 5 && len(f.s.Open()) == 0 })
		if f.now-begin > 1000 {
			t.Errorf("%s: it lasts %d s\n%s", name, f.now-begin, f.text())
		}
	}
}

// TestSkippedRequirement: a host that catches up with one stable part does not get another stable part that requires a
// change from which an operator excluded the host. It gets both after the retry.
func TestSkippedRequirement(t *testing.T) {
	f := newFitting(t)
	f.head["db"] = "d2"
	f.until(t, "d2", func() bool { return f.have("d2") == 1 })
	rest := f.s.Rollouts["r2"].Plan.Waves[2].Members
	late := f.hosts[rest[len(rest)-1]]
	f.on(t, "r2", rollout.Command{Action: rollout.ToSkip, Target: late.id})
	f.until(t, "the others", func() bool { return f.have("d2") == 4 && len(f.s.Open()) == 0 })
	late.online = false
	f.head["web"], f.head["top"] = "w2", "t2"
	f.until(t, "w2", func() bool { return f.have("w2") == 4 && f.have("t2") == 4 && len(f.s.Open()) == 0 })
	late.online = true
	f.until(t, "t2", func() bool { return f.have("t2") == 5 })
	f.rest(60)
	if f.have("w2") != 4 || f.have("d2") != 4 {
		t.Errorf("%v\n%s", late.parts, f.text())
	}
	f.on(t, "r2", rollout.Command{Action: rollout.ToRetry, Target: late.id})
	f.until(t, "both", func() bool { return f.have("w2") == 5 && f.have("d2") == 5 })
}

// on orders a command for one rollout.
func (f *fleet) on(t *testing.T, id string, c rollout.Command) {
	t.Helper()
	c.Rollout, c.By = id, "jane"
	log, err := f.s.Order(c, f.now)
	if err != nil {
		t.Fatal(err)
	}
	f.log = append(f.log, log...)
}
