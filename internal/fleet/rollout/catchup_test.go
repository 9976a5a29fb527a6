package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// away returns a fleet whose content is complete, except on the last hosts, which have no contact.
func away(t *testing.T, n, gone int) *fleet {
	f := begun(t, n)
	for _, id := range sortedHosts(f)[n-gone:] {
		f.hosts[id].online = false
	}
	f.head["web"], f.strategy.MinCoverage = "w2", rollout.Amount{}
	f.until(t, "the rollout", func() bool { return f.phase("r2").Final() })
	f.rest(30)
	if got := f.have("w2"); got != n-gone {
		t.Fatalf("%d hosts have the content without contact", got-n+gone)
	}
	return f
}

// back gives the hosts contact again.
func (f *fleet) back() {
	for _, h := range f.hosts {
		h.online = true
	}
}

// TestManyReturn: a quarter of the hosts catches up at the same time. The others have a reason.
func TestManyReturn(t *testing.T) {
	f := away(t, 40, 30)
	f.back()
	f.step(1)
	if got := f.have("w2"); got != 20 {
		t.Errorf("%d hosts catch up", got-10)
	}
	why := f.s.Reason(f.world(), "h39", rollout.Change{Part: "web", Digest: "w2"})
	if !strings.Contains(why, "waits for 10 other targets that catch up") {
		t.Error(why)
	}
	f.restart()
	f.step(1)
	f.until(t, "all", func() bool { return f.have("w2") == 40 })
	f.until(t, "the end", func() bool { return !f.s.CatchingUp() })
}

// TestReturnAtARate: the rate of the strategy counts for stable content, too.
func TestReturnAtARate(t *testing.T) {
	f := away(t, 40, 30)
	f.strategy.Rate = 3
	f.back()
	f.rest(50)
	if got := f.have("w2"); got != 13 {
		t.Errorf("%d hosts caught up within a minute", got-10)
	}
}

// TestReturnsThatFail: hosts that fail, are silent or do not become ready keep no host from its content.
func TestReturnsThatFail(t *testing.T) {
	f := away(t, 12, 6)
	f.back()
	f.step(1)
	f.hosts["h06"].broken = true
	f.hosts["h07"].online = false
	f.until(t, "the others", func() bool { return f.have("w2") == 12 })
	f.takes = 1 << 40
	f.add("n1")
	f.until(t, "a slow host", func() bool { return f.hosts["n1"].parts["web"] == "w2" })
	f.until(t, "the end", func() bool { return !f.s.CatchingUp() })
	for _, why := range []string{"failed", "have no contact", "are not ready in time"} {
		if !strings.Contains(f.text(), "] "+why) {
			t.Errorf("no host ended because of %q\n%s", why, f.text())
		}
	}
}

// TestNewHostIsUsable: a new host gets its content at once, while others catch up.
func TestNewHostIsUsable(t *testing.T) {
	f := away(t, 40, 30)
	f.back()
	f.step(1)
	f.add("zz")
	if f.step(1); f.hosts["zz"].parts["web"] != "w2" {
		t.Errorf("the new host has %v", f.hosts["zz"].parts)
	}
	for i := range 30 {
		f.add(fmt.Sprintf("n%02d", i))
	}
	f.step(1)
	n := 0
	for id, h := range f.hosts {
		if id[0] == 'n' && !h.fresh {
			n++
		}
	}
	if n == 0 || n > 18 {
		t.Errorf("%d new hosts have content at the same time", n)
	}
}

// TestRestoredContent: a commit that restores the stable content reaches all hosts at once.
func TestRestoredContent(t *testing.T) {
	f := begun(t, 40)
	f.head["web"] = "w2"
	f.until(t, "a part", func() bool { return f.have("w2") > 12 })
	f.head["web"] = "w1"
	if f.step(1); f.have("w2") > 0 {
		t.Errorf("%d hosts have the reverted content", f.have("w2"))
	}
}

// TestTargetThatKeepsItsContent: a target that does not get the stable content in time, for example because another
// module waits, does not keep others from it.
func TestTargetThatKeepsItsContent(t *testing.T) {
	f := away(t, 12, 5)
	f.back()
	for _, h := range f.hosts {
		h.contact = f.now
	}
	w := f.world()
	begin := func(after int64) (n int) {
		for _, e := range f.s.Decide(w, f.now+after) {
			if e.Kind == rollout.CatchesUp && !e.Lost {
				n += len(e.Targets)
			}
		}
		return n
	}
	for _, c := range []struct{ after, want int64 }{{0, 3}, {800, 0}, {900, 2}} {
		if got := begin(c.after); int64(got) != c.want {
			t.Errorf("%d targets begin after %d s", got, c.after)
		}
	}
}

// TestFrozenNewTargets: a new target that is frozen gets its first assignment, and keeps no other target from its
// content. The reason names the targets that take the places.
func TestFrozenNewTargets(t *testing.T) {
	f := begun(t, 4)
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
		f.add(name)
	}
	w := f.world()
	for id, target := range w.Targets {
		if target.Name = "host " + string(id); id == "n1" || id == "n2" || id == "n3" {
			target.Frozen = true
		}
		w.Targets[id] = target
	}
	var free, begin []rollout.ID
	for _, e := range f.s.Decide(w, f.now) {
		switch {
		case e.Kind == rollout.CatchesUp && e.Lost:
			free = append(free, e.Targets...)
		case e.Kind == rollout.CatchesUp:
			begin = append(begin, e.Targets...)
		}
	}
	if len(free) != 3 || fmt.Sprint(begin) != "[n4 n5]" {
		t.Fatalf("%v take no place, and %v take one", free, begin)
	}
	change := rollout.Change{Part: "web", Digest: "w1"}
	if why := f.s.Reason(w, "n6", change); !strings.HasSuffix(why, "for 2 other targets that catch up: host n4, host n5") {
		t.Errorf("n6: %s", why)
	}
}
