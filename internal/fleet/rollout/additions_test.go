package rollout_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// grouped returns a fleet in which the part "extra" is stable, and the hosts of the role a, which are every other one,
// have it.
func grouped(t *testing.T, n int) *fleet {
	f := newFleet(t, n, rollout.Careful())
	for i, id := range sortedHosts(f) {
		f.hosts[id].role = []string{"a", "b"}[i%2]
	}
	f.groups.digest = "e1"
	f.group("t1", "a")
	f.until(t, "the first content", func() bool { return f.phase("r1").Final() && f.have("e1") == (n+1)/2 })
	f.step(30)
	return f
}

// TestAdditionWaits: a commit that gives a stable part to more hosts adds it in waves.
func TestAdditionWaits(t *testing.T) {
	f := grouped(t, 40)
	f.group("t2", "all")
	f.step(1)
	if n := f.have("e1"); n > 21 {
		t.Errorf("%d hosts get the part at once\n%s", n-20, f.text())
	}
	f.restart()
	f.until(t, "all", func() bool { return f.have("e1") == 40 && f.phase("r2") == rollout.Completed })
	if f.phase("r3") != "" {
		t.Error(f.text())
	}
}

// TestAdditionWithoutRoot: the same holds if the root part is unchanged, for example because another part needs it.
func TestAdditionWithoutRoot(t *testing.T) {
	f := grouped(t, 40)
	f.groups.role["t1"] = "all"
	f.step(1)
	if n := f.have("e1"); n != 21 {
		t.Errorf("%d hosts get the part at once\n%s", n-20, f.text())
	}
	h := f.s.Rollouts["r2"].Plan.Waves[2].Members[0]
	why := f.s.Reason(f.world(), h, rollout.Change{Part: "extra", Digest: "e1"})
	if !strings.Contains(why, "it is stable") || !strings.Contains(why, "rollout r2") {
		t.Error(why)
	}
	f.until(t, "all", func() bool { return f.have("e1") == 40 && f.phase("r2") == rollout.Completed })
}

// TestFailedAddition: the rollback removes the part again. Only the addition is held, and not the content.
func TestFailedAddition(t *testing.T) {
	f := grouped(t, 40)
	for _, h := range f.hosts {
		if h.role == "b" {
			h.badWith = "extra"
		}
	}
	f.groups.role["t1"] = "all"
	f.until(t, "the rollback", func() bool { return f.phase("r2") == rollout.RolledBack })
	f.rest(60)
	if n := f.have("e1"); n != 20 || f.phase("r3") != "" {
		t.Errorf("%d hosts have the part\n%s", n, f.text())
	}
	h := f.hosts["h01"]
	why := f.s.Reason(f.world(), "h01", rollout.Change{Part: "extra", Digest: "e1"})
	if h.parts["extra"] != "" || why != "held since the rollout r2 ended" || len(f.s.Lacking(f.world())["r2"]) != 20 {
		t.Errorf("%s, %v", why, f.s.Lacking(f.world()))
	}
	f.add("n1")
	f.hosts["n1"].role = "a"
	f.rest(5)
	if f.hosts["n1"].parts["extra"] != "e1" {
		t.Errorf("a new host does not get the stable part\n%s", f.text())
	}
	h.role = "a"
	f.rest(60)
	if h.parts["extra"] != "" {
		t.Errorf("a label gives a host the part that is held\n%s", f.text())
	}
	for _, h := range f.hosts {
		h.badWith = ""
	}
	f.give(t, rollout.Command{Rollout: "r2", Action: rollout.ToRelease})
	f.until(t, "the release", func() bool { return f.have("e1") == 41 })
}

// give gives a command.
func (f *fleet) give(t *testing.T, c rollout.Command) {
	t.Helper()
	log, err := f.s.Order(c, f.now)
	if err != nil {
		t.Fatal(err)
	}
	f.log = append(f.log, log...)
}

// TestLabelIsAnOrder: a host whose label changes gets the stable part without a rollout, and many get it in turn.
func TestLabelIsAnOrder(t *testing.T) {
	f := grouped(t, 40)
	f.hosts["h01"].role = "a"
	f.step(1)
	if f.hosts["h01"].parts["extra"] != "e1" || f.phase("r2") != "" {
		t.Error(f.text())
	}
	f.rest(30)
	for _, h := range f.hosts {
		h.role = "a"
	}
	f.step(1)
	f.restart()
	if n := f.have("e1"); n != 31 {
		t.Errorf("%d hosts get the part at the same time\n%s", n-21, f.text())
	}
	f.until(t, "all", func() bool { return f.have("e1") == 40 })
	f.rest(30)
	for _, h := range f.hosts {
		h.role = "b"
	}
	f.until(t, "the removal", func() bool { return f.have("e1") == 0 })
	f.rest(60)
	f.groups.role["t1"] = "all"
	f.step(1)
	if n := f.have("e1"); n != 1 {
		t.Errorf("an old label gives %d hosts the part\n%s", n, f.text())
	}
}

// TestLabelAndCommit: if in doubt, a part waits for a rollout.
func TestLabelAndCommit(t *testing.T) {
	f := grouped(t, 40)
	for _, h := range f.hosts {
		h.role = "a"
	}
	f.group("t2", "a")
	f.step(1)
	if n := f.have("e1"); n > 21 {
		t.Errorf("%d hosts get the part at once\n%s", n-20, f.text())
	}
	f.until(t, "all", func() bool { return f.have("e1") == 40 })
}

// TestAwayDuringAddition: a member without contact gets the part after the end of its rollout.
func TestAwayDuringAddition(t *testing.T) {
	f := grouped(t, 40)
	f.hosts["h01"].online = false
	f.groups.role["t1"] = "all"
	f.until(t, "the rollout", func() bool { return f.phase("r2").Final() })
	f.restart()
	f.back()
	f.step(1)
	if f.hosts["h01"].parts["extra"] != "e1" || f.phase("r3") != "" {
		t.Error(f.text())
	}
}

// TestRemovalKeepsStable: after its removal from some hosts, the part is stable for others.
func TestRemovalKeepsStable(t *testing.T) {
	f := grouped(t, 4)
	f.hosts["h00"].role = "b"
	f.until(t, "the removal", func() bool { return f.have("e1") == 1 && f.phase("r2").Final() })
	f.add("n1")
	f.hosts["n1"].role = "a"
	f.step(1)
	if f.hosts["n1"].parts["extra"] != "e1" || f.phase("r3") != "" {
		t.Error(f.text())
	}
}
