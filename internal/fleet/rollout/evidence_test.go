package rollout_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// proven checks that content becomes stable only if a ready member of the rollout has it.
func (f *fleet) proven(log []rollout.Event, e rollout.Event) {
	plan, _, _, state := last(log, e.Rollout)
	if len(plan.Waves) == 0 || e.Phase != rollout.Completed && e.Phase != rollout.WithExceptions {
		return
	}
	for _, c := range plan.Changes {
		has := slices.ContainsFunc(sortedHosts(f), func(id rollout.ID) bool {
			return state[id] == rollout.Ready && f.hosts[id].parts[c.Part] == c.Digest
		})
		digest, _ := f.s.Stable(plan.Lane, c.Part)
		if was, _ := f.stable(log, plan.Lane, c.Part); !has && c.Digest != "" && digest == c.Digest && was != digest {
			f.tell("%v is stable since the end of %s, and no ready member has it", c, e.Rollout)
		}
	}
}

// stable returns the stable content of a part after some events.
func (f *fleet) stable(log []rollout.Event, lane, part string) (digest string, ok bool) {
	s := f.base.State()
	for _, e := range log[f.cut:] {
		s.Fold(e)
	}
	return s.Stable(lane, part)
}

// TestRevertedPart: if a commit reverts one part of a rollout, and a target needs only the other part, then the
// rollout continues. Its end does not make the reverted content stable: nothing showed that it works.
func TestRevertedPart(t *testing.T) {
	f := begun(t, 9)
	for _, id := range sortedHosts(f)[1:] {
		f.hosts[id].only = "web"
	}
	f.hosts["h00"].only = "top"
	f.head["web"], f.head["top"], f.bad["w2"] = "w2", "t2", true
	f.step(1)
	f.head["web"] = "w1"
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.Completed })
	const want = "no ready target has its content of web, so this is not stable"
	why := f.s.Rollouts["r2"].Why
	if d, _ := f.s.Stable("main", "web"); d != "w1" || why != want {
		t.Errorf("%s is stable: %s\n%s", d, why, f.text())
	}
	f.head["web"] = "w2"
	if f.step(1); f.have("w2") != 1 {
		t.Errorf("%d targets have content that is not proven\n%s", f.have("w2"), f.text())
	}
}

// TestPartOfAbsentTarget: a part whose only target has no contact is not stable. The target gets it in a rollout, which
// can fail.
func TestPartOfAbsentTarget(t *testing.T) {
	f := begun(t, 9)
	f.hosts["h08"].role, f.hosts["h08"].online = "a", false
	f.groups.digest, f.bad["e1"] = "e1", true
	f.group("t2", "a")
	f.until(t, "the end", func() bool { return f.phase("r2").Final() && f.have("t2") == 8 })
	if d, ok := f.s.Stable("main", "extra"); ok {
		t.Errorf("%s is stable", d)
	}
	f.hosts["h08"].online = true
	f.until(t, "the rollback", func() bool { return f.phase("r3") == rollout.RolledBack })
	if f.have("e1") != 0 || f.have("t2") != 9 {
		t.Errorf("%d, %d\n%s", f.have("e1"), f.have("t2"), f.text())
	}
}
