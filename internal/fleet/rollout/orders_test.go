package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPhasesOfActions: each action is possible in some phases.
func TestPhasesOfActions(t *testing.T) {
	all := []Phase{Active, OnHold, RollingBack, Completed, WithExceptions, Aborted, RolledBack, Superseded}
	for action, want := range map[Action][]Phase{
		ToPause:    {Active},
		ToResume:   {OnHold},
		ToAbort:    {Active, OnHold, RollingBack},
		ToRollback: {Active, OnHold},
		ToPromote:  {Active},
		ToSkip:     {Active, OnHold},
		ToRetry:    {Active, OnHold},
		ToRelease:  nil, // nothing is held
		"dance":    nil,
	} {
		for _, phase := range all {
			state := map[Action]MemberState{ToSkip: MemberGranted, ToRetry: MemberFailed}[action]
			r := &Rollout{Phase: phase, Members: map[ID]*Member{"a": {State: state}}}
			_, err := NewState().order(r, Command{Action: action, Target: "a"})
			if (err == nil) != slices.Contains(want, phase) {
				t.Errorf("%s in the phase %s: %v", action, phase, err)
			}
		}
	}
}

// TestStatesOfMembers: an operator can skip a member without a result or with a bad one, and retry it after a bad one.
func TestStatesOfMembers(t *testing.T) {
	all := []MemberState{MemberPending, MemberGranted, MemberReady, MemberFailed, MemberSilent, MemberSkipped,
		MemberReturned, MemberLeft}
	for action, want := range map[Action][]MemberState{
		ToSkip:  {MemberPending, MemberGranted, MemberFailed, MemberSilent},
		ToRetry: {MemberFailed, MemberSilent},
	} {
		for _, state := range all {
			r := &Rollout{Phase: Active, Members: map[ID]*Member{"a": {State: state}}}
			e, err := NewState().order(r, Command{Action: action, Target: "a"})
			kind := map[Action]Kind{ToSkip: Skipped, ToRetry: Retried}[action]
			if (err == nil) != slices.Contains(want, state) || err == nil && e.Kind != kind ||
				err != nil && err.Error() != "a is "+string(state) {
				t.Errorf("%s of a member that is %s: %s, %v", action, state, e.Kind, err)
			}
		}
	}
}

// TestEventsOfOrders: the events of a command have its user and its reason. An abort ends the rollout at once.
func TestEventsOfOrders(t *testing.T) {
	for action, want := range map[Action]string{ToPause: "paused", ToAbort: "breached abort ended aborted",
		ToRollback: "breached rollback", ToPromote: "promoted", ToSkip: "skipped"} {
		s := NewState()
		s.Fold(Event{Rollout: "r1", Kind: Created, Created: &Plan{Lane: "main", Waves: []Wave{{Members: []ID{"a"}}}}})
		c := Command{Action: action, Rollout: "r1", By: "ann", Why: "a test"}
		if action == ToSkip {
			c.Target = "a"
		}
		log, err := s.Order(c, 7)
		var got []string
		for _, e := range log {
			got = append(got, strings.Fields(fmt.Sprint(e.Kind, " ", e.Reaction, " ", e.Phase))...)
			if e.Rollout != "r1" || e.At != 7 || e.By != "ann" || e.Why != "a test" {
				t.Errorf("%s: %+v", action, e)
			}
		}
		if strings.Join(got, " ") != want || err != nil || log[0].Target != c.Target {
			t.Errorf("%s: %v, want %s, %v", action, got, want, err)
		}
		if r := s.Rollouts["r1"]; r.Phase.Final() != (action == ToAbort) || len(s.Open()) > 0 == r.Phase.Final() {
			t.Errorf("%s: the rollout is %s", action, r.Phase)
		}
	}
}

// TestReasonTexts: the reason of a change names the obstacles on the target.
func TestReasonTexts(t *testing.T) {
	c := Change{Part: "web", Digest: "w2"}
	const waits = "it waits for a rollout"
	for want, world := range map[string]struct {
		target Target
		resync bool
	}{
		"":                                       {Target{Online: true}, false},
		"; it has no contact":                    {Target{}, false},
		"; it must not be changed now: a freeze": {Target{Online: true, Hold: "a freeze"}, false},
		"; the hub waits until most targets have contact": {Target{Online: true, Foreign: []string{"db"}}, true},
	} {
		s, w := NewState(), World{Targets: map[ID]Target{"a": world.target}, Resync: world.resync}
		if w.Explain(s); s.Reason(w, "a", c) != waits+want {
			t.Errorf("%q, want %q", s.Reason(w, "a", c), waits+want)
		}
	}
	for name, w := range map[string]World{
		"without foreign content": {Targets: map[ID]Target{"a": {Online: true}}, Resync: true},
		"with contact":            {Targets: map[ID]Target{"a": {Online: true, Foreign: []string{"db"}}}},
	} {
		s := NewState()
		if w.Explain(s); s.Reason(w, "a", c) != waits {
			t.Errorf("%s: %q", name, s.Reason(w, "a", c))
		}
	}
}

// TestGatedFor: the current wave of the rollout of a change keeps members of later waves from it.
func TestGatedFor(t *testing.T) {
	c := Change{Part: "web", Digest: "w2"}
	for name, r := range map[string]struct {
		rollout Rollout
		want    bool
	}{
		"a later wave":     {Rollout{Members: map[ID]*Member{"a": {Wave: 2}}}, true},
		"the current wave": {Rollout{Members: map[ID]*Member{"a": {Wave: 1}}}, false},
		"an earlier wave":  {Rollout{Members: map[ID]*Member{"a": {Wave: 0}}}, false},
		"it left":          {Rollout{Members: map[ID]*Member{"a": {Wave: 2, State: MemberLeft}}}, false},
		"another target":   {Rollout{Members: map[ID]*Member{"b": {Wave: 2}}}, false},
	} {
		r.rollout.Wave, r.rollout.Plan = 1, Plan{Lane: "main", Changes: []Change{c}}
		s := NewState()
		s.open = []*Rollout{{Plan: Plan{Lane: "next", Changes: []Change{c}}}, {Plan: Plan{Lane: "main"}}, &r.rollout}
		if got := s.gatedFor("a", "main", c); (got == &r.rollout) != r.want || got != nil && !r.want {
			t.Errorf("%s: %v", name, got)
		}
		if s.gatedFor("a", "main", Change{Part: "db"}) != nil || s.gatedFor("a", "other", c) != nil {
			t.Errorf("%s: a wave of another rollout keeps the target from its change", name)
		}
	}
}

// TestMembersOfARollout: the states of the members of a rollout decide what counts.
func TestMembersOfARollout(t *testing.T) {
	c := Change{Part: "web", Digest: "w2"}
	for state, want := range map[MemberState]struct{ takesPart, granted, size bool }{
		MemberPending: {true, true, true}, MemberGranted: {true, true, true}, MemberReady: {true, true, true},
		MemberFailed: {true, true, true}, MemberSilent: {true, true, true}, MemberSkipped: {true, true, false},
		MemberReturned: {true, false, true}, MemberLeft: {false, false, false},
	} {
		r := &Rollout{Phase: Active, Members: map[ID]*Member{"a": {State: state, Granted: 1}},
			Plan: Plan{Changes: []Change{c}, Waves: []Wave{{MaxUnavailable: Amount{Number: 1}}}}}
		r.numbers = newTally(r.Members)
		if r.takesPart("a") != want.takesPart || r.granted("a", c) != want.granted || (r.size(0) == 1) != want.size ||
			r.size(0) != r.size(allWaves) {
			t.Errorf("%s: it takes part: %t of %d, granted %t", state, r.takesPart("a"), r.size(0), r.granted("a", c))
		}
		if size, ready, atOnce := r.Progress(0); size != r.size(0) || (ready == 1) != (state == MemberReady) || atOnce != 1 {
			t.Errorf("%s: %d of %d are ready, %d at once", state, ready, size, atOnce)
		}
		free := map[MemberState]int{MemberGranted: 0, MemberFailed: 0, MemberSilent: 0}
		if left, ok := free[state]; r.free() != left && ok || !ok && r.free() != 1 {
			t.Errorf("%s: %d more may be unavailable", state, r.free())
		}
		if r.takesPart("b") || r.granted("b", c) || r.granted("a", Change{Part: "web", Digest: "w3"}) {
			t.Errorf("%s: others take part", state)
		}
		if r.Phase = RollingBack; r.granted("a", c) {
			t.Errorf("%s: the change is granted in a rollback", state)
		}
	}
}

// TestFreePlaces: members that an operator accepted, and those that had failed before, are not unavailable.
func TestFreePlaces(t *testing.T) {
	r := &Rollout{Plan: Plan{Waves: []Wave{{}, {MaxUnavailable: Amount{Number: 5}}}}, Wave: 1, Members: map[ID]*Member{
		"a": {Wave: 0, State: MemberFailed}, "b": {Wave: 0, State: MemberSilent}, "c": {Wave: 1, State: MemberFailed},
		"d": {Wave: 1, State: MemberGranted}, "e": {Wave: 1, State: MemberGranted, Lost: true},
		"f": {Wave: 1, State: MemberPending}, "g": {Wave: 1, State: MemberPending}, "h": {Wave: 1, State: MemberPending}}}
	r.numbers = newTally(r.Members)
	for forgiven, want := range map[int]int{0: 1, 1: 2, 2: 3, 3: 4, 9: 4} {
		if r.forgiven = forgiven; r.free() != want {
			t.Errorf("with %d accepted members, %d more may be unavailable, want %d", forgiven, r.free(), want)
		}
	}
}

// TestManyChanges: a rollout of many changes has the same ones as a rollout of few.
func TestManyChanges(t *testing.T) {
	for n := range 2 * manyChanges {
		r := &Rollout{}
		for i := range n {
			r.Plan.Changes = append(r.Plan.Changes, Change{Part: string(rune('a' + i)), Digest: "x"})
		}
		if r.index(); (r.contents != nil) != (n >= manyChanges) {
			t.Errorf("%d changes have an index: %t", n, r.contents != nil)
		}
		for i := range 2 * manyChanges {
			c := Change{Part: string(rune('a' + i)), Digest: "x"}
			if r.has(c) != (i < n) || r.part(c.Part) != (i < n) || r.has(Change{Part: c.Part, Digest: "y"}) {
				t.Errorf("%d changes: %v is one of them: %t", n, c, r.has(c))
			}
		}
	}
}
