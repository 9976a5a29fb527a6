package rollout_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
	"pgregory.net/rapid"
)

// foreign returns the parts that the host had when the log was lost, and has now.
func (h *host) foreign() (out []string) {
	for _, part := range slices.Sorted(maps.Keys(h.shown)) {
		if h.parts[part] == h.shown[part] {
			out = append(out, part)
		}
	}
	return out
}

// restore replaces the log with an old copy, and all hosts show their content.
func (f *fleet) restore(events int) {
	f.log, f.base, f.cut = f.log[:events], rollout.Snapshot{}, 0
	f.s = rollout.NewState()
	for _, e := range f.log {
		f.s.Fold(e)
	}
	f.up = f.now
	for _, h := range f.hosts {
		h.shown = maps.Clone(h.parts)
	}
}

// restoresSome replaces the log with an old copy. All events of a decision are in the copy, or none of them.
func (f *fleet) restoresSome(rt *rapid.T) {
	n := rapid.IntRange(0, len(f.log)).Draw(rt, "events that stay")
	for n > 0 && n < len(f.log) && f.log[n].At == f.log[n-1].At {
		n--
	}
	f.restore(n)
	f.resync = rapid.Bool().Draw(rt, "resync")
	for _, h := range f.hosts {
		h.inLane, h.behind = "", behind{} // the copy does not contain them
	}
}

// newer returns a fleet whose hosts have the content w2 of a rollout that the log does not know.
func newer(t *testing.T, n int) *fleet {
	f := begun(t, n)
	f.step(100)
	events := len(f.log)
	f.head["web"] = "w2"
	f.until(t, "the second content", func() bool { return f.have("w2") == n && f.phase("r2") == rollout.Completed })
	f.restore(events)
	return f
}

// TestForeignContentStays: the newest commit has the content of the hosts, so nothing changes, and a later commit
// reaches them in waves. If it fails, they return to the content that they had.
func TestForeignContentStays(t *testing.T) {
	f := newer(t, 40)
	f.step(1000)
	if f.have("w2") != 40 {
		t.Fatal(f.text())
	}
	f.head["web"], f.bad["w3"] = "w3", true
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	f.step(1000)
	if f.have("w2") != 40 || f.have("w3") != 0 {
		t.Error(f.text())
	}
}

// TestStableContentReplacesForeignContent: the newest commit has the stable content of the log. The hosts with other
// content get it in waves.
func TestStableContentReplacesForeignContent(t *testing.T) {
	f := newer(t, 40)
	f.head["web"] = "w1"
	f.step(1)
	if n := f.have("w1"); n != 1 {
		t.Fatalf("%d hosts return at once\n%s", n, f.text())
	}
	r := f.s.Rollouts["r2"]
	why := f.s.Reason(f.world(), r.Plan.Waves[2].Members[0], rollout.Change{Part: "web", Digest: "w1"})
	if !strings.Contains(why, "it is stable") || !strings.Contains(why, "rollout r2") {
		t.Error(why)
	}
	f.until(t, "all", func() bool { return f.have("w1") == 40 && f.phase("r2") == rollout.Completed })
	if f.phase("r3") != "" {
		t.Error(f.text())
	}
}

// TestStableContentFails: the stable content fails on a host with foreign content. The host returns, and keeps the
// foreign content.
func TestStableContentFails(t *testing.T) {
	f := newer(t, 40)
	f.head["web"], f.bad["w1"] = "w1", true
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	f.step(1000)
	if f.have("w2") != 40 {
		t.Error(f.text())
	}
}

// TestForeignContentOfSome: a rollout that the log does not know was not complete. Hosts that lack its content get it
// in waves, and not as stable content.
func TestForeignContentOfSome(t *testing.T) {
	f := begun(t, 40)
	f.step(100)
	events := len(f.log)
	f.head["db"] = "d1"
	f.until(t, "a half", func() bool { return f.have("d1") >= 20 })
	f.step(20)
	had := f.have("d1")
	f.restore(events)
	f.step(1)
	if n := f.have("d1"); n != had+1 {
		t.Fatalf("%d hosts get the content at once\n%s", n-had, f.text())
	}
	f.until(t, "all", func() bool { return f.have("d1") == 40 && f.phase("r2") == rollout.Completed })
}

// TestForeignContentInAnOldRollout: the copy has an open rollout, which later ones had replaced. Its members keep the
// newer content, also if the copy is of its rollback.
func TestForeignContentInAnOldRollout(t *testing.T) {
	for _, back := range []bool{false, true} {
		f := begun(t, 40)
		f.step(100)
		f.head["web"], f.bad["w2"] = "w2", back
		f.until(t, "the old rollout", func() bool {
			return !back && f.have("w2") > 10 || f.phase("r2") == rollout.RollingBack
		})
		events := len(f.log)
		f.head["web"] = "w3"
		f.until(t, "the newer content", func() bool { return f.have("w3") == 40 })
		f.restore(events)
		f.step(1)
		if f.have("w3") != 40 {
			t.Fatalf("back %t: %d hosts have the newer content\n%s", back, f.have("w3"), f.text())
		}
		f.step(1000)
		if f.have("w3") != 40 || len(f.s.Open()) > 0 {
			t.Fatalf("back %t: %d hosts have the newer content\n%s", back, f.have("w3"), f.text())
		}
	}
}

// TestForeignContentIsAwaited: no rollout begins before most hosts have shown their content.
func TestForeignContentIsAwaited(t *testing.T) {
	f := newer(t, 40)
	f.head["web"], f.resync = "w1", true
	hosts := sortedHosts(f)
	for _, id := range hosts[1:] {
		f.hosts[id].shown, f.hosts[id].online = nil, false
		f.hosts[id].parts["web"] = "w1"
	}
	f.step(10)
	w := f.world()
	w.Explain(f.s)
	why := f.s.Reason(w, hosts[0], rollout.Change{Part: "web", Digest: "w1"})
	if f.phase("r2") != "" || !strings.Contains(why, "most targets have contact") {
		t.Error(why)
	}
	for _, id := range hosts[1:] {
		f.hosts[id].online, f.hosts[id].parts["web"] = true, "w2"
		f.hosts[id].shown = maps.Clone(f.hosts[id].parts)
	}
	f.resync = false
	f.step(1)
	if r := f.s.Rollouts["r2"]; r == nil || len(r.Plan.Waves) != 3 || len(r.Plan.Waves[2].Members) != 35 {
		t.Error(f.text())
	}
}
