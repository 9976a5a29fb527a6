package rollout_test

import (
	"strings"
	"testing"

	fleets "fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestUnavailableTargetsOfOrganizations: with two rollouts at the same time, at most two targets of an organization and
// at most one of an organization below it are unavailable. Other organizations are not limited.
func TestUnavailableTargetsOfOrganizations(t *testing.T) {
	s := rollout.AtOnce()
	s.Name = "all"
	f := organizationFleet(t, 12, s, []fleets.Limits{{Organization: "a", MaxUnavailable: rollout.Amount{Number: 2}},
		{Organization: "a/b", MaxUnavailable: rollout.Amount{Number: 1}}}, "a", "a/b", "ab", "")
	f.step(1)
	most := map[fleets.Organization]int{}
	f.until(t, "all targets have the content", func() bool {
		now := map[fleets.Organization]int{}
		for _, r := range f.s.Open() {
			for id, m := range r.Members {
				if m.State == rollout.MemberGranted {
					now[f.hosts[id].organization]++
				}
			}
		}
		for o, n := range now {
			most[o] = max(most[o], n)
		}
		return f.have("w1") == 12 && len(f.s.Open()) == 0
	})
	if most["a"]+most["a/b"] > 3 || most["a/b"] != 1 || most["a"] > 2 || most["ab"] != 3 || most[""] != 3 {
		t.Errorf("unavailable at the same time: %v", most)
	}
}

// TestApprovalsOfOrganizations: targets of an organization get a change after the approvals of each organization that
// contains it, of different users. Others do not wait for it, and the rollout does not end before.
func TestApprovalsOfOrganizations(t *testing.T) {
	f := organizationFleet(t, 8, rollout.Careful(), []fleets.Limits{{Organization: "a", Approvals: 1},
		{Organization: "a/b", Approvals: 1}}, "a/b", "a", "", "")
	f.until(t, "the rest of the fleet has the content", func() bool { return f.have("w1") == 4 })
	for range 100 {
		f.step(3600) // no timeout lets the rollout end
	}
	if len(f.s.Open()) != 1 || f.have("w1") != 4 || f.s.Open()[0].Phase != rollout.Active {
		t.Fatalf("%d have it\n%s", f.have("w1"), f.text())
	}
	for id, h := range f.hosts {
		if h.organization != "a/b" {
			continue
		}
		w := f.world()
		w.Explain(f.s)
		if why := f.s.Reason(w, id, rollout.Change{Part: "web", Digest: "w1"}); !strings.Contains(why,
			"waits for the approval of 1 of 1 users for the organization a") {
			t.Errorf("%s: %s", id, why)
		}
	}
	approve := func(by string, o fleets.Organization) bool {
		return f.answer(rollout.Command{Action: rollout.ToApprove, Rollout: "r1", By: by, Organization: o})
	}
	if !approve("ann", "a") || approve("ann", "a") || approve("ann", "a/b") {
		t.Error("a user counts once on a path")
	}
	f.until(t, "the targets of a have the content", func() bool { return f.have("w1") == 6 })
	if !approve("bob", "a/b") || !approve("ann", "ab") {
		t.Error("other users and organizations count")
	}
	f.until(t, "the rollout ends", func() bool { return len(f.s.Open()) == 0 })
	if f.have("w1") != 8 {
		t.Errorf("%d have it", f.have("w1"))
	}
}

// TestRejectionsOfOrganizations: a rejection removes the approvals for its organization only. The targets wait, with
// the reason, until users approve the rollout again, also users who approved it before.
func TestRejectionsOfOrganizations(t *testing.T) {
	f := organizationFleet(t, 8, rollout.Careful(), []fleets.Limits{{Organization: "a", Approvals: 2},
		{Organization: "a/b", Approvals: 1}}, "a/b", "a", "", "")
	f.until(t, "the rest of the fleet has the content", func() bool { return f.have("w1") == 4 })
	order := func(action rollout.Action, by string, o fleets.Organization) bool {
		return f.answer(rollout.Command{Action: action, Rollout: "r1", By: by, Organization: o, Why: "audit"})
	}
	if !order(rollout.ToApprove, "ann", "a") || !order(rollout.ToApprove, "zoe", "a/b") ||
		!order(rollout.ToReject, "bob", "a") || order(rollout.ToReject, "eve", "a") || order(rollout.ToReject, "", "a") {
		t.Error("a rejection does not count once")
	}
	r := f.s.Open()[0]
	if len(r.Consents["a"]) != 0 || len(r.Consents["a/b"]) != 1 || r.Waiting().Vetoes["a"].By != "bob" {
		t.Errorf("the approvals are %+v, the rejections %+v", r.Consents, r.Vetoes)
	}
	for range 20 {
		f.step(3600)
	}
	for id, h := range f.hosts {
		if h.organization != "a" {
			continue
		}
		w := f.world()
		w.Explain(f.s)
		if why := f.s.Reason(w, id, rollout.Change{Part: "web", Digest: "w1"}); !strings.Contains(why,
			"bob rejected the rollout r1 for the organization a: audit") {
			t.Errorf("%s: %s", id, why)
		}
	}
	if !order(rollout.ToApprove, "ann", "a") || !order(rollout.ToReject, "eve", "a") ||
		!order(rollout.ToApprove, "bob", "a") || !order(rollout.ToApprove, "ann", "a") {
		t.Error("users cannot change their decisions")
	}
	f.until(t, "the rollout ends", func() bool { return len(f.s.Open()) == 0 })
	if f.have("w1") != 8 {
		t.Errorf("%d have it", f.have("w1"))
	}
}

// TestFailuresFillAnOrganization: if failed targets of an organization prevent all grants, the rollout pauses with the
// reason. A resumption accepts them.
func TestFailuresFillAnOrganization(t *testing.T) {
	s := rollout.AtOnce()
	s.MaxFailed, s.OnBreach = rollout.Amount{Number: 100, Percent: true}, rollout.Pause
	f := organizationFleet(t, 3, s, []fleets.Limits{{Organization: "a", MaxUnavailable: rollout.Amount{Number: 1}}}, "a")
	f.bad["w1"] = true
	f.until(t, "the rollout pauses", func() bool {
		return len(f.s.Open()) > 0 && f.s.Open()[0].Phase == rollout.OnHold
	})
	if why := f.s.Open()[0].Why; !strings.Contains(why, "of the organization a ") || f.have("w1") != 1 {
		t.Errorf("%d have it, and the reason is %q", f.have("w1"), why)
	}
	f.answer(rollout.Command{Action: rollout.ToResume, Rollout: f.s.Open()[0].ID, By: "ann"})
	f.until(t, "the next target gets it", func() bool { return f.have("w1") == 2 })
}

// TestFewMembersWithoutApproval: a rollout does not end while a single member waits for an approval, although all
// others are ready. An operator can skip the member.
func TestFewMembersWithoutApproval(t *testing.T) {
	f := organizationFleet(t, 12, rollout.Careful(), []fleets.Limits{{Organization: "a", Approvals: 1}},
		"", "", "", "", "", "", "", "", "", "", "", "a")
	f.until(t, "the rest of the fleet has the content", func() bool { return f.have("w1") == 11 })
	for range 50 {
		f.step(3600)
	}
	if len(f.s.Open()) != 1 || f.have("w1") != 11 {
		t.Fatalf("%d have it\n%s", f.have("w1"), f.text())
	}
	f.answer(rollout.Command{Action: rollout.ToSkip, Rollout: "r1", Target: "h11", By: "ann"})
	f.until(t, "the rollout ends", func() bool { return len(f.s.Open()) == 0 })
}

// TestCatchingUpOfOrganizations: targets of an organization that return catch up within its limit.
func TestCatchingUpOfOrganizations(t *testing.T) {
	s := rollout.AtOnce()
	s.Name = "all"
	f := organizationFleet(t, 8, s, nil, "a")
	f.until(t, "all have the content", func() bool { return f.have("w1") == 8 && len(f.s.Open()) == 0 })
	f.loses(2, true)
	f.head["web"] = "w2"
	f.until(t, "the others have new content", func() bool { return f.have("w2") == 4 && len(f.s.Open()) == 0 })
	f.loses(2, false)
	f.limits = []fleets.Limits{{Organization: "a", MaxUnavailable: rollout.Amount{Number: 1}}}
	f.step(1)
	if n := f.have("w2"); n != 5 {
		t.Errorf("%d targets have it at once, and the limit is 1", n)
	}
	f.until(t, "all have new content", func() bool { return f.have("w2") == 8 })
}
