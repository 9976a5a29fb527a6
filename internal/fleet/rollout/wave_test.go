package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// start is the time at which the rollouts of these tests begin, in seconds since 1970. 0 means no time.
const start = 1

// wave is a rollout r1 of the content w2 with the members of each wave, at the second start, and its world.
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
		e.Rollout, e.At = "r1", start
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
		if got := w.decide(start + s.WaveTimeout - 1); len(got) > 0 {
			t.Fatalf("before the timeout: %v", got)
		}
	}
	if got := w.decide(start + s.WaveTimeout); !slices.Contains(got, "settled") {
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
		if got := w.decide(start + 1); slices.Contains(got, "paused") != want {
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
		w.set("a0", func(target *rollout.Target) { target.Online, target.Contact = false, start })
		if got := w.decide(start + s.SilentAfter - 1); slices.Contains(got, "silenta0") {
			t.Errorf("%s, early: %v", verdict, got)
		}
		if got := w.decide(start + s.SilentAfter); slices.Contains(got, "silenta0") != want {
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
		if got := w.decide(start + 1); slices.Contains(got, "created") != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestConditionsOfAWave: granted members without a result, and failed and silent ones, count as not ready. Members that
// had failed before do not.
func TestConditionsOfAWave(t *testing.T) {
	of := func(k rollout.Kind) rollout.Event { return rollout.Event{Kind: k, Target: "a1"} }
	granted := of(rollout.Granted)
	for name, c := range map[string]struct {
		log  []rollout.Event
		want string
	}{
		"failed": {[]rollout.Event{granted, of(rollout.Failed)}, "1 of 2 granted"},
		"silent": {[]rollout.Event{granted, of(rollout.Silent)}, "1 of 2 granted"},
		"open":   {[]rollout.Event{granted}, "1 of 2 granted"},
		"lost":   {[]rollout.Event{{Kind: rollout.Granted, Target: "a1", Lost: true}}, ""},
		"left":   {[]rollout.Event{of(rollout.Left)}, ""},
		"ready":  {[]rollout.Event{granted, of(rollout.Ready)}, ""},
	} {
		s := rollout.Careful()
		s.MaxFailed, s.MaxSilent = rollout.Amount{Number: 5}, rollout.Amount{Number: 5}
		w := newWave(s, []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
		w.granted("a0", rollout.Ready)
		w.fold(c.log...)
		w.set("a1", func(target *rollout.Target) { target.Health = rollout.Blocked })
		w.decide(start + s.WaveTimeout)
		r := w.s.Rollouts["r1"]
		if !strings.HasPrefix(r.Why, c.want) || (r.Phase == rollout.OnHold) != (c.want != "") {
			t.Errorf("%s: the rollout is %s: %s", name, r.Phase, r.Why)
		}
	}
}

// TestCompleteWithoutAReadyMember: an operator accepts what a wave lacks. The rollout is complete if any member is
// ready, and members that left are no exceptions.
func TestCompleteWithoutAReadyMember(t *testing.T) {
	s := rollout.Careful()
	s.MaxFailed, s.MaxSilent = rollout.Amount{Number: 5}, rollout.Amount{Number: 5}
	for name, c := range map[string]struct {
		verdict rollout.Kind
		health  rollout.Health
		want    rollout.Phase
	}{
		"failed":  {rollout.Failed, rollout.Broken, rollout.OnHold},
		"silent":  {rollout.Silent, rollout.Unknown, rollout.OnHold},
		"blocked": {rollout.Granted, rollout.Blocked, rollout.OnHold},
		"skipped": {rollout.Skipped, rollout.Unknown, rollout.OnHold},
		"ready":   {rollout.Ready, rollout.Healthy, rollout.Completed},
	} {
		w := newWave(s, []rollout.ID{"a0", "a1"})
		w.granted("a0", c.verdict)
		w.fold(rollout.Event{Kind: rollout.Left, Target: "a1"}, rollout.Event{Kind: rollout.Paused},
			rollout.Event{Kind: rollout.Resumed})
		w.set("a0", func(target *rollout.Target) { target.Health, target.Online = c.health, c.verdict != rollout.Silent })
		w.set("a1", func(target *rollout.Target) { target.Wants = nil })
		w.decide(start + s.WaveTimeout)
		if got := w.s.Rollouts["r1"]; got.Phase != c.want {
			t.Errorf("with a member that is %s: %s %s", name, got.Phase, got.Why)
		}
	}
}

// TestBakeTimeEnds: the bake time of a wave ends when one of its members can be granted the change again.
func TestBakeTimeEnds(t *testing.T) {
	for online, want := range map[bool]bool{true: true, false: false} {
		w := newWave(rollout.Careful(), []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
		w.granted("a0", rollout.Ready)
		w.fold(rollout.Event{Kind: rollout.Settled})
		w.set("a1", func(target *rollout.Target) { target.Online = online })
		if got := w.decide(start); slices.Contains(got, "unsettled") != want {
			t.Errorf("with a member that is online %t: %v", online, got)
		}
	}
}

// TestTimeoutOfAWave: after the timeout, a wave ends without the members that are held or away. A window that is closed
// keeps it open, and so does a member that can be granted the change.
func TestTimeoutOfAWave(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rollout.Target)
		early  bool // the wave also ends before the timeout
		late   bool
	}{
		"a hold":      {func(target *rollout.Target) { target.Hold = "a freeze" }, false, true},
		"a window":    {func(target *rollout.Target) { target.Hold, target.Closed = "a window", true }, false, false},
		"no contact":  {func(target *rollout.Target) { target.Online = false }, true, true},
		"a wait":      {func(target *rollout.Target) { target.Waits = map[string]string{"web": "it waits"} }, false, true},
		"a free host": {func(target *rollout.Target) {}, false, false},
	} {
		for after, want := range map[int64]bool{0: c.early, 1: c.late} {
			s := rollout.Careful()
			w := newWave(s, []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
			w.granted("a0", rollout.Ready)
			w.set("a1", c.change)
			got := w.decide(start + s.WaveTimeout - 1 + after)
			if slices.Contains(got, "settled") != want {
				t.Errorf("%s, %d s before the timeout: %v", name, 1-after, got)
			}
		}
	}
}

// TestTimeoutOfAWaveThatFails: a wave that does not meet its conditions waits for members without contact until its
// timeout.
func TestTimeoutOfAWaveThatFails(t *testing.T) {
	s := rollout.Careful()
	s.MinCoverage = rollout.Amount{Number: 100, Percent: true}
	for after, want := range map[int64]bool{-1: false, 0: true} {
		w := newWave(s, []rollout.ID{"a0", "a1"}, []rollout.ID{"b0"})
		w.granted("a0", rollout.Ready)
		w.set("a1", func(target *rollout.Target) { target.Online = false })
		if got := w.decide(start + s.WaveTimeout + after); slices.Contains(got, "paused") != want {
			t.Errorf("%d s after the timeout: %v", after, got)
		}
	}
}
