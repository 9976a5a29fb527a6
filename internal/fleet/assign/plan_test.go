package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
)

// planned is a fleet of the targets web1, web2 and web3 with the module web, at a commit and its content.
type planned struct {
	state     *assign.State
	revisions map[string]assign.Contents
	targets   []fleet.Target
}

func newPlanned() *planned {
	p := &planned{state: assign.NewState(1, "main"), revisions: map[string]assign.Contents{}}
	for _, name := range []string{"web1", "web2", "web3"} {
		t := fleet.Target{ID: idOf(name), Name: name, Standing: fleet.Active}
		p.targets = append(p.targets, t)
		p.state.Fold(assign.Event{Rev: 1, Kind: assign.TargetEvent, Key: string(t.ID), Target: &t})
	}
	return p
}

// commit makes the letter of a commit the head of the branch. Its module has the letter as its content.
func (p *planned) commit(rev uint64, letter string) {
	commit, bundle := strings.Repeat(letter, 40), fleet.Bundle{Digest: "sha256:" + strings.Repeat(letter, 64), Size: 1}
	c := assign.Contents{Revision: fleet.Revision{Repository: "site", Commit: commit},
		Enrolled: assign.EnrolledDigest(p.targets), Root: fleet.Bundle{Digest: "sha256:" + strings.Repeat("0", 64), Size: 1},
		Bundles: map[string]fleet.Bundle{"modules/web": bundle}, Targets: map[string]assign.Configured{}}
	for _, t := range p.targets {
		c.Targets[t.Name] = assign.Configured{Strategy: "careful", Modules: []assign.Module{{Directory: "modules/web"}}}
	}
	p.revisions[commit] = c
	p.state.Fold(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commit}})
}

// compute computes with a plan, and returns the letter of each new assignment by target.
func (p *planned) compute(plan func([]assign.Desired) assign.Grant) (map[string]string, assign.Output) {
	in := p.state.Input(100, p.revisions)
	in.Plan = plan
	out := assign.Compute(in)
	p.state.ApplyOutput(out)
	got := map[string]string{}
	for _, a := range out.Assignments {
		got[a.Name] = a.Modules[0].Revision.Commit[:1]
	}
	return got, out
}

// A plan sees what each target wants and why it may not change, and decides what each gets.
func TestPlan(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	p.compute(nil)
	p.commit(2, "b")
	p.state.Fold(assign.Event{Rev: 3, Kind: assign.FreezeEvent, Key: string(idOf("web3")),
		Freeze: &assign.Freeze{Key: string(idOf("web3")), Targets: []fleet.TargetID{idOf("web3")}, Reason: "lunch"}})
	seen := map[string]string{}
	got, out := p.compute(func(all []assign.Desired) assign.Grant {
		for _, d := range all {
			seen[d.Target.Name] = d.Was.Modules[0].Revision.Commit[:1] + d.Want.Modules[0].Revision.Commit[:1] + " " +
				d.Strategy + " " + d.Kept
		}
		return func(was *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
			if want.Name == "web1" {
				return want, "it is first"
			}
			return *was, "it waits for web1"
		}
	})
	want := map[string]string{"web1": "ab careful ", "web2": "ab careful ", "web3": "ab careful it is frozen: lunch"}
	for name, text := range want {
		if seen[name] != text {
			t.Errorf("the plan sees %q of %s instead of %q", seen[name], name, text)
		}
	}
	if got["web1"] != "b" || got["web2"] != "" {
		t.Errorf("the new assignments: %v", got)
	}
	why := strings.Join(out.Why(idOf("web2"), "modules/web"), "\n")
	if !strings.Contains(why, "modules/web is at aaaaaaaaaaaa") || !strings.Contains(why, "it waits for web1") ||
		strings.Contains(why, "unchanged") {
		t.Errorf("web2: %s", why)
	}
	why = strings.Join(out.Why(idOf("web3"), "modules/web"), "\n")
	if !strings.Contains(why, "it is frozen: lunch") || !strings.Contains(why, "it waits for web1") {
		t.Errorf("web3: %s", why)
	}
}

// The zero value of a grant means that a new target gets no assignment yet.
func TestPlanWithoutAnAssignment(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	got, out := p.compute(func([]assign.Desired) assign.Grant {
		return func(was *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
			if want.Name == "web1" {
				return want, ""
			}
			return fleet.Assignment{}, "it waits for web1"
		}
	})
	if len(got) != 1 || got["web1"] != "a" {
		t.Errorf("the new assignments: %v", got)
	}
	why := strings.Join(out.Why(idOf("web2"), ""), "\n")
	if !strings.Contains(why, "it waits for web1\nit has no assignment") {
		t.Errorf("web2: %s", why)
	}
}

// A pinned target has no desired assignment in the plan: rollouts do not concern it.
func TestPlanOfAPinnedTarget(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	p.state.Fold(assign.Event{Rev: 2, Kind: assign.PinEvent, Key: "p1", Pin: &assign.Pin{Key: "p1", Target: idOf("web2"),
		Pin: fleet.Pin{Ref: "main", By: "jane"}}})
	p.compute(func(all []assign.Desired) assign.Grant {
		for _, d := range all {
			if (d.Want == nil) != (d.Target.Name == "web2") {
				t.Errorf("%s wants %v", d.Target.Name, d.Want)
			}
		}
		return assign.AtOnce
	})
}

// TestStrategyOfAReplacedRoot: the root bundle to which an operator rolled the fleet back selects the strategies.
func TestStrategyOfAReplacedRoot(t *testing.T) {
	p := newPlanned()
	p.commit(1, "a")
	good, bad := strings.Repeat("a", 40), strings.Repeat("b", 40)
	p.commit(2, "b")
	c := p.revisions[bad]
	c.Root.Digest, c.Strategies = "sha256:"+strings.Repeat("1", 64), []query.Strategy{{Name: "bad"}}
	for name := range c.Targets {
		c.Targets[name] = assign.Configured{Strategy: "at-once", Modules: c.Targets[name].Modules}
	}
	p.revisions[bad] = c
	strategy := func() (out string) {
		p.compute(func(all []assign.Desired) assign.Grant { out = all[0].Strategy; return assign.AtOnce })
		return out
	}
	if got := strategy(); got != "at-once" || len(p.state.Input(100, p.revisions).Strategies()) != 1 {
		t.Errorf("the head selects %s", got)
	}
	p.state.Fold(assign.Event{Rev: 3, Kind: assign.ReplacementEvent, Key: "top",
		Replacement: &assign.Replacement{Part: "top", Held: bad, Commit: good, By: "jane"}})
	if got := strategy(); got != "careful" || len(p.state.Input(100, p.revisions).Strategies()) != 0 {
		t.Errorf("the root bundle of the rollback selects %s", got)
	}
}
