package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// wave is a rollout r1 of the content w2 with the members of each wave, at second 1000, and its world.
type wave struct {
	s *rollout.State
	w rollout.World
}

// newWave returns a rollout whose waves are selected. Each member is online, needs the change, and has no grant.
func newWave(s rollout.Strategy, waves ...[]rollout.ID) *wave {
	plan := rollout.Plan{Lane: "main", Changes: []rollout.Change{{Part: "web", Digest: "w2"}}, Strategy: s}
	t := &wave{s: rollout.NewState(), w: rollout.World{Targets: map[rollout.ID]rollout.Target{},
		Has:      func(rollout.ID, string) string { return "w1" },
		Strategy: func(string, []rollout.Change) rollout.Strategy { return s },
		Cause:    func(string, []rollout.Change) string { return "a test" }}}
	for i, members := range waves {
		plan.Waves = append(plan.Waves, rollout.Wave{Name: fmt.Sprint("wave ", i), Members: members, Selected: true})
		for _, id := range members {
			t.w.Targets[id] = rollout.Target{Lane: "main", Wants: plan.Changes, Online: true}
		}
	}
	t.fold(rollout.Event{Kind: rollout.Created, Created: &plan})
	return t
}

func (t *wave) fold(all ...rollout.Event) {
	for _, e := range all {
		e.Rollout, e.At = "r1", 1000
		t.s.Fold(e)
	}
}

// granted lets a member have the change, with the verdict that follows.
func (t *wave) granted(id rollout.ID, verdict rollout.Kind) {
	t.fold(rollout.Event{Kind: rollout.Granted, Target: id}, rollout.Event{Kind: verdict, Target: id})
	health := map[rollout.Kind]rollout.Health{rollout.Failed: rollout.Broken}[verdict]
	if health == "" {
		health = rollout.Healthy
	}
	t.set(id, func(target *rollout.Target) { target.Wants, target.Health = nil, health })
}

func (t *wave) set(id rollout.ID, change func(*rollout.Target)) {
	target := t.w.Targets[id]
	change(&target)
	t.w.Targets[id] = target
}

// decide returns the kinds of the events of a second, with their targets.
func (t *wave) decide(now int64) (out []string) {
	for _, e := range t.s.Decide(t.w, now) {
		out = append(out, fmt.Sprintf("%s%s", e.Kind, e.Target))
	}
	return out
}

// TestOneIsHeld: a wave is not over while one of many members is held, for at most the timeout of a wave.
func TestOneIsHeld(t *testing.T) {
	s := rollout.Careful()
	members := ids(20)
	w := newWave(s, members, []rollout.ID{"b0"})
	for _, id := range members[1:] {
		w.granted(id, rollout.Ready)
	}
	w.set(members[0], func(target *rollout.Target) { target.Hold = "a window" })
	for range 10 {
		if got := w.decide(1000 + s.WaveTimeout - 1); len(got) > 0 {
			t.Fatalf("before the timeout: %v", got)
		}
	}
	if got := w.decide(1000 + s.WaveTimeout); !slices.Contains(got, "settled") {
		t.Errorf("at the timeout: %v", got)
	}
}

// TestOtherWaveIsAway: a wave that does not meet its conditions waits only for its own pending members.
func TestOtherWaveIsAway(t *testing.T) {
	s := rollout.Careful()
	s.MaxFailed = rollout.Amount{Number: 5}
	for away, want := range map[rollout.ID]bool{"a1": false, "b1": true} {
		w := newWave(s, []rollout.ID{"a0", "a1"}, []rollout.ID{"b0", "b1"})
		w.granted("a0", rollout.Failed)
		if away != "a1" {
			w.granted("a1", rollout.Failed)
		}
		w.set(away, func(target *rollout.Target) { target.Online = false })
		if got := w.decide(1001); slices.Contains(got, "paused") != want {
			t.Errorf("without contact to %s: %v", away, got)
		}
	}
}

// TestSilentAfterVerdict: a member that failed, or that an operator skipped, stays so when it loses contact. Members
// in other states are silent.
func TestSilentAfterVerdict(t *testing.T) {
	s := rollout.Careful()
	s.MaxFailed, s.MaxSilent = rollout.Amount{Number: 5}, rollout.Amount{Number: 5}
	for verdict, want := range map[rollout.Kind]bool{rollout.Failed: false, rollout.Skipped: false, rollout.Ready: true} {
		w := newWave(s, []rollout.ID{"a0", "a1"})
		w.granted("a0", verdict)
		w.set("a0", func(target *rollout.Target) { target.Online, target.Contact = false, 1000 })
		if got := w.decide(1000 + s.SilentAfter - 1); slices.Contains(got, "silenta0") {
			t.Errorf("%s, early: %v", verdict, got)
		}
		if got := w.decide(1000 + s.SilentAfter); slices.Contains(got, "silenta0") != want {
			t.Errorf("%s: %v", verdict, got)
		}
	}
}

// TestNotNew: content that is stable, held, or skipped for a target is not a reason for a rollout.
func TestNotNew(t *testing.T) {
	end := func(p rollout.Phase) rollout.Event { return rollout.Event{Kind: rollout.Ended, Phase: p} }
	for name, c := range map[string]struct {
		log  []rollout.Event
		want bool
	}{
		"stable":  {[]rollout.Event{end(rollout.Completed)}, false},
		"held":    {[]rollout.Event{end(rollout.Aborted)}, false},
		"skipped": {[]rollout.Event{{Kind: rollout.Skipped, Target: "a0"}, end(rollout.Superseded)}, false},
		"released for another target": {[]rollout.Event{{Kind: rollout.Skipped, Target: "a0"}, end(rollout.Aborted),
			{Kind: rollout.Released}}, false},
		"released": {[]rollout.Event{end(rollout.Aborted), {Kind: rollout.Released}}, true},
	} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0"})
		w.w.Targets["a0"] = rollout.Target{Lane: "main", Wants: []rollout.Change{{Part: "web", Digest: "w2"}}, Online: true}
		w.fold(c.log...)
		if got := w.decide(1001); slices.Contains(got, "created") != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
