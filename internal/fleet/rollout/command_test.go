package rollout_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// TestCommands gives each command in each phase. A refused command changes nothing.
func TestCommands(t *testing.T) {
	running := []rollout.Action{rollout.ToPause, rollout.ToAbort, rollout.ToRollback, rollout.ToPromote, rollout.ToSkip}
	for _, c := range []struct {
		phase rollout.Phase
		begin []rollout.Action
		want  []rollout.Action
	}{
		{rollout.Active, nil, running},
		{rollout.OnHold, []rollout.Action{rollout.ToPause},
			[]rollout.Action{rollout.ToResume, rollout.ToAbort, rollout.ToRollback, rollout.ToSkip}},
		{rollout.Aborted, []rollout.Action{rollout.ToAbort}, []rollout.Action{rollout.ToRelease}},
		{rollout.RollingBack, []rollout.Action{rollout.ToRollback},
			[]rollout.Action{rollout.ToAbort, rollout.ToRelease}},
		{rollout.Active, []rollout.Action{rollout.ToPause, rollout.ToResume}, running},
		{rollout.Active, []rollout.Action{rollout.ToSkip},
			[]rollout.Action{rollout.ToPause, rollout.ToAbort, rollout.ToRollback,
				rollout.ToPromote, rollout.ToRetry}},
	} {
		for _, a := range append(slices.Clone(running), rollout.ToResume, rollout.ToRetry, rollout.ToRelease, "dance") {
			f := begun(t, 5)
			f.head["web"] = "w2"
			f.step(1)
			for _, b := range c.begin {
				f.command(t, b, member(b))
			}
			before := phaseAndMembers(f)
			log, err := f.s.Order(rollout.Command{Action: a, Rollout: "r2", Target: member(a)}, f.now)
			if (err == nil) != slices.Contains(c.want, a) {
				t.Errorf("%s in the phase %s after %v: %v, %v", a, c.phase, c.begin, log, err)
			}
			if err != nil && !reflect.DeepEqual(phaseAndMembers(f), before) {
				t.Errorf("%s is refused in the phase %s, but has an effect", a, c.phase)
			}
		}
	}
}

// member returns the target of a command about a member.
func member(a rollout.Action) rollout.ID {
	if a == rollout.ToSkip || a == rollout.ToRetry {
		return "h03"
	}
	return ""
}

func phaseAndMembers(f *fleet) string {
	out := string(f.phase("r2"))
	for _, id := range sortedHosts(f) {
		out += string(f.s.Rollouts["r2"].Members[id].State)
	}
	return out
}

func TestCommandsForOthers(t *testing.T) {
	f := begun(t, 3)
	if _, err := f.s.Order(rollout.Command{Action: rollout.ToPause, Rollout: "r9"}, f.now); !errors.Is(err,
		rollout.ErrNoRollout) {
		t.Error(err)
	}
	f.head["web"] = "w2"
	f.step(1)
	for _, id := range []rollout.ID{"", "h99"} {
		if _, err := f.s.Order(rollout.Command{Action: rollout.ToSkip, Rollout: "r2", Target: id}, f.now); err == nil {
			t.Errorf("%q is skipped", id)
		}
	}
}

// TestPromote: an operator ends the bake time of one wave, but not of the next wave.
func TestPromote(t *testing.T) {
	f := begun(t, 20)
	f.strategy.Waves[0].Bake, f.strategy.Waves[1].Bake = 5000, 5000
	f.head["web"] = "w2"
	f.step(1)
	f.command(t, rollout.ToPromote, "")
	if f.rest(5); f.have("w2") != 1 {
		t.Error("the next wave began before the first member is ready")
	}
	f.rest(200)
	if n := f.have("w2"); n != 3 {
		t.Errorf("%d hosts have the change: the first wave has 1, and the second 2\n%s", n, f.text())
	}
}

// TestResumed: after a breach, an operator accepts what failed so far, and one failure more is a breach again.
func TestResumed(t *testing.T) {
	f := begun(t, 20)
	f.strategy.OnBreach = rollout.Pause
	f.head["web"], f.bad["w2"] = "w2", true
	breaches := func() (n int) {
		for _, e := range f.log {
			if e.Kind == rollout.Breached {
				n++
			}
		}
		return n
	}
	for want := 1; want < 4; want++ {
		f.until(t, "a breach", func() bool { return f.phase("r2") == rollout.OnHold })
		if breaches() != want || f.have("w2") != want {
			t.Fatalf("%d breaches, %d hosts\n%s", breaches(), f.have("w2"), f.text())
		}
		f.command(t, rollout.ToResume, "")
		f.step(1)
	}
}

// TestSkippedInRollback: a member that was skipped after its grant returns in a rollback, and stays excluded until
// an operator retries it.
func TestSkippedInRollback(t *testing.T) {
	f := slow(t, 20)
	id := f.s.Rollouts["r2"].Plan.Waves[0].Members[0]
	f.command(t, rollout.ToSkip, id)
	f.step(1)
	f.command(t, rollout.ToRollback, "")
	f.until(t, "the end", func() bool { return f.phase("r2") == rollout.RolledBack })
	f.command(t, rollout.ToRelease, "")
	f.until(t, "the others", func() bool { return f.have("w2") == 9 && f.phase("r3").Final() })
	f.command(t, rollout.ToRetry, id)
	f.until(t, "the member", func() bool { return f.have("w2") == 10 })
}

// TestCommandsAfterTheEnd: after the end of a rollout, an operator can only release its content, and retry a target
// that was skipped.
func TestCommandsAfterTheEnd(t *testing.T) {
	for _, p := range []rollout.Phase{rollout.Completed, rollout.WithExceptions, rollout.Aborted, rollout.RolledBack,
		rollout.Superseded} {
		f := slow(t, 20)
		f.s.Fold(rollout.Event{Rollout: "r2", At: f.now, Kind: rollout.Ended, Phase: p})
		for _, a := range []rollout.Action{rollout.ToPause, rollout.ToResume, rollout.ToAbort, rollout.ToRollback,
			rollout.ToPromote, rollout.ToSkip, rollout.ToRetry} {
			for _, id := range sortedHosts(f) {
				if _, err := f.s.Order(rollout.Command{Action: a, Rollout: "r2", Target: id}, f.now); err == nil {
					t.Errorf("%s is possible in the phase %s", a, p)
				}
			}
		}
	}
}
