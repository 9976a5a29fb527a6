package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAllowedChanges: a target may have a change that was granted, or stable content while it catches up.
func TestAllowedChanges(t *testing.T) {
	web := Change{Part: "web", Digest: "w2"}
	granted := map[ID]*Member{"a": {State: MemberGranted, Granted: 1}}
	stable := func(s *State) { s.stable["main"] = map[string]string{"web": "w2"} }
	for name, c := range map[string]struct {
		s       *State
		change  func(s *State)
		allowed bool
		why     string
	}{
		"granted": {opened(0, granted, web), nil, true, "the rollout r1 granted it"},
		"in a rollback": {opened(0, granted, web),
			func(s *State) { s.open[0].Phase = RollingBack }, false, "the rollout r1 is"},
		"skipped": {NewState(),
			func(s *State) { s.skipped["a"] = map[Change]string{web: "r0"} }, false,
			"an operator skipped it in the rollout r0"},
		"skipped, granted": {opened(0, granted, web),
			func(s *State) { s.skipped["a"] = map[Change]string{web: "r0"} }, true, "the rollout r1"},
		"held": {NewState(),
			func(s *State) { s.held[place{"main", web}] = "r0" }, false, "held since the rollout r0 ended"},
		"held, skipped": {NewState(),
			func(s *State) { s.held[place{"main", web}], s.skipped["a"] = "r0", map[Change]string{web: "r3"} }, false,
			"an operator skipped"},
		"stable": {NewState(), stable, false, "the content is stable: it is next"},
		"it catches up": {NewState(),
			func(s *State) { stable(s); s.catching["a"] = CatchUp{Lane: "main"} }, true, "the content is stable"},
		"another catches up": {NewState(),
			func(s *State) { stable(s); s.catching["b"] = CatchUp{Lane: "main"} }, false,
			"the content is stable, but it waits for 1 other"},
		"a new one does": {NewState(),
			func(s *State) { stable(s); s.catching["b"] = CatchUp{Lane: "main", New: true} }, false,
			"the content is stable, but it waits for 1 other"},
		"no rollout": {NewState(), nil, false, "it waits for a rollout"},
		"catches up with other content": {NewState(),
			func(s *State) { s.catching["a"] = CatchUp{Lane: "main"} }, false, "it waits for a rollout"},
	} {
		if c.change != nil {
			c.change(c.s)
		}
		allowed, why := c.s.Allowed("a", "main", web)
		if allowed != c.allowed || !strings.HasPrefix(why, c.why) {
			t.Errorf("%s: %t, %s", name, allowed, why)
		}
	}
}

// TestPlaceInARollout: a target without a change has the reason that fits its place in the rollout of the change.
func TestPlaceInARollout(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	member := func(wave int, s MemberState) map[ID]*Member { return map[ID]*Member{"a": {Wave: wave, State: s}} }
	for name, c := range map[string]struct {
		members map[ID]*Member
		change  func(r *Rollout)
		c       Change
		want    string
	}{
		"not a member": {nil, nil, web,
			"it waits for the end of the rollout r1, which began before the target needed the change"},
		"it left": {member(1, MemberLeft), nil, web, "it waits for the end of the rollout r1, which began before"},
		"the next wave": {member(1, MemberPending), nil, web,
			"it is in the wave late of the rollout r1, and the current wave is early (0 of 0 ready)"},
		"in a bake time": {member(1, MemberPending),
			func(r *Rollout) { r.Settled = 1 }, web,
			"it is in the wave late of the rollout r1, and the current wave is early (0 of 0 ready, in its bake time)"},
		"this wave": {member(0, MemberPending), nil, web,
			"the rollout r1 has reached its wave early: it is next when another target is ready"},
		"paused": {member(0, MemberPending), func(r *Rollout) { r.Phase = OnHold }, web, "the rollout r1 is paused"},
		"paused by ann": {member(0, MemberPending),
			func(r *Rollout) { r.Phase, r.By, r.Why = OnHold, "ann", "a test" }, web,
			"the rollout r1 is paused by ann: a test"},
		"another change": {member(0, MemberPending), nil, db, "it waits for a rollout"},
		"another lane": {member(0, MemberPending),
			func(r *Rollout) { r.Plan.Lane = "next" }, web,
			"it waits for the end of the rollout r1, to which it belongs since it had another branch"},
		"it left a lane": {member(0, MemberLeft), func(r *Rollout) { r.Plan.Lane = "next" }, web, "it waits for a rollout"},
		"a lane, another": {member(0, MemberPending),
			func(r *Rollout) { r.Plan.Lane = "next" }, db, "it waits for a rollout"},
		"an addition": {nil, nil, Change{"web", "w2", true},
			"it is stable, and a rollout must bring it to this target, which has different content or none: it waits for"},
	} {
		s := opened(0, c.members, web)
		if s.open[0].Plan.Waves = []Wave{{Name: "early"}, {Name: "late"}}; c.change != nil {
			c.change(s.open[0])
		}
		if got := s.waiting("a", "main", c.c, nil); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPartsThatReturn: in a rollback, a member that was granted the change has its earlier content again.
func TestPartsThatReturn(t *testing.T) {
	before := []Change{{Part: "web", Digest: "w1"}}
	for name, c := range map[string]struct {
		phase  Phase
		member Member
		want   bool
	}{
		"granted":     {RollingBack, Member{State: MemberReady, Granted: 1, Before: before}, true},
		"it returned": {RollingBack, Member{State: MemberReturned, Granted: 1, Before: before}, false},
		"it left":     {RollingBack, Member{State: MemberLeft, Granted: 1, Before: before}, false},
		"pending":     {RollingBack, Member{State: MemberPending, Before: before}, false},
		"active":      {Active, Member{State: MemberReady, Granted: 1, Before: before}, false},
	} {
		s := opened(0, map[ID]*Member{"a": &c.member})
		s.open[0].Phase = c.phase
		s.open = append([]*Rollout{{Phase: Active, Members: s.open[0].Members}}, s.open...)
		if got := s.Returns("a"); slices.Equal(got, before) != c.want || s.Returns("b") != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNewChanges: a change needs a rollout, unless it is stable, held, skipped, waits, or belongs to an open rollout.
func TestNewChanges(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	member := map[ID]*Member{"a": {State: MemberPending}}
	granted := map[ID]*Member{"a": {State: MemberGranted, Granted: 1}}
	needs := Target{Wants: []Change{db, web}, Requires: map[string][]Required{"web": {{Part: "db", Why: "web needs db"}}}}
	for name, c := range map[string]struct {
		s      *State
		target Target
		change func(s *State)
		want   bool
	}{
		"new":        {NewState(), Target{}, nil, true},
		"it depends": {NewState(), Target{Waits: map[string]string{"web": "it waits"}}, nil, false},
		"stable": {NewState(), Target{},
			func(s *State) { s.stable["main"] = map[string]string{"web": "w2"} }, false},
		"held":                 {NewState(), Target{}, func(s *State) { s.held[place{"main", web}] = "r0" }, false},
		"held in another lane": {NewState(), Target{}, func(s *State) { s.held[place{"next", web}] = "r0" }, true},
		"skipped": {NewState(), Target{},
			func(s *State) { s.skipped["a"] = map[Change]string{web: "r0"} }, false},
		"a member": {opened(0, member, web), Target{}, nil, false},
		"a member, in a rollback": {opened(0, member, web), Target{},
			func(s *State) { s.open[0].Phase = RollingBack }, false},
		"a member in another lane": {opened(0, member, web), Target{},
			func(s *State) { s.open[0].Plan.Lane = "next" }, false},
		"not a member":              {opened(1, nil, web), Target{}, nil, false},
		"no member, in a rollback":  {opened(1, nil, web), Target{}, func(s *State) { s.open[0].Phase = RollingBack }, true},
		"no member in another lane": {opened(1, nil, web), Target{}, func(s *State) { s.open[0].Plan.Lane = "next" }, true},
		"of another part":           {opened(1, nil, db), Target{}, nil, true},
		"replaced":                  {opened(1, nil, web, db), Target{Wants: []Change{web, {Part: "db"}}}, nil, true},
		"it requires a new one":     {NewState(), needs, nil, true},
		"it requires a held one":    {NewState(), needs, func(s *State) { s.held[place{"main", db}] = "r0" }, false},
		"it requires a granted one": {opened(0, granted, db), needs, nil, true},
	} {
		if c.target.Wants == nil {
			c.target.Wants = []Change{web}
		}
		if c.target.Lane = "main"; c.change != nil {
			c.change(c.s)
		}
		turn := newTurn(c.s, World{Targets: map[ID]Target{"a": c.target}}, 1)
		if got := turn.isNew("a", c.target, web); got != c.want {
			t.Errorf("%s: it needs a rollout: %t", name, got)
		}
		if waits := slices.Equal(turn.proposals()["main"], []ID{"a"}); len(c.s.open) == 0 && waits != c.want {
			t.Errorf("%s: %v", name, turn.proposals())
		}
	}
}

// TestPostponedIsNotNew: a change that is postponed until the end of another rollout needs no rollout now.
func TestPostponedIsNotNew(t *testing.T) {
	web := Change{Part: "web", Digest: "w2"}
	turn := newTurn(NewState(), World{}, 1)
	for lane, want := range map[string]bool{"main": false, "next": true} {
		turn.w.postponed = map[string]map[Change]string{"main": {web: "r1"}}
		if turn.isNew("a", Target{Lane: lane, Wants: []Change{web}}, web) != want {
			t.Errorf("%s: it needs a rollout: %t", lane, !want)
		}
	}
}

// TestBeginOfARollout: a rollout begins as soon as one of its targets can be changed, or in a preview. It has the
// author and the cause of its changes.
func TestBeginOfARollout(t *testing.T) {
	for name, c := range map[string]struct {
		target Target
		eager  bool
		want   bool
	}{
		"a target":           {Target{Online: true}, false, true},
		"no contact":         {Target{}, false, false},
		"a hold":             {Target{Online: true, Hold: "a freeze"}, false, false},
		"a hold, as preview": {Target{Online: true, Hold: "a freeze"}, true, true},
	} {
		s := NewState()
		c.target.Lane, c.target.Wants = "main", []Change{{Part: "web", Digest: "w2"}}
		w := World{Targets: map[ID]Target{"a": c.target}, Eager: c.eager, Has: func(ID, string) string { return "w1" },
			Strategy: func(string, []Change) Strategy { return Careful() },
			Cause:    func(lane string, all []Change) string { return fmt.Sprint(lane, all) },
			Author:   func(lane string) (string, string) { return "Ann <a@b>", "ann of " + lane }}
		if !s.Waits(w) {
			t.Errorf("%s: no rollout waits", name)
		}
		s.Decide(w, 1)
		if s.Waits(w) == c.want || (len(s.Rollouts) == 1) != c.want {
			t.Errorf("%s: a rollout has begun: %t", name, len(s.Rollouts) == 1)
		}
		for _, r := range s.Rollouts {
			if p := r.Plan; p.Git != "Ann <a@b>" || p.Author != "ann of main" || p.Cause != "main[{web w2 false}]" ||
				len(p.Changes) != 1 || p.Strategy.Name != "careful" || len(p.Waves) != 1 {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

// TestLeavingMembers: members leave for several reasons, and one of them does not keep the others.
func TestLeavingMembers(t *testing.T) {
	web := []Change{{Part: "web", Digest: "w2"}}
	newer := []Change{{Part: "web", Digest: "w3"}}
	targets := map[ID]Target{"b": {Lane: "next", Wants: web}, "c": {Lane: "main", Wants: newer},
		"d": {Lane: "main"}, "e": {Lane: "main", Wants: web}, "f": {Lane: "main"}, "left": {Lane: "main"}}
	s := opened(0, map[ID]*Member{"a": {State: MemberPending}, "b": {State: MemberPending}, "c": {State: MemberPending},
		"d": {State: MemberPending}, "e": {State: MemberPending}, "f": {State: MemberReady, Granted: 1},
		"1left": {State: MemberLeft}}, web...)
	turn := newTurn(s, World{Targets: targets, Has: func(ID, string) string { return "" }}, 1)
	turn.membership(s.open[0])
	want := []string{"a it is not an active target any more", "b it follows another branch", "c the content was replaced",
		"d it does not need the change any more"}
	var got []string
	for _, e := range turn.log {
		if e.Kind == Left {
			got = append(got, string(e.Target)+" "+e.Why)
		}
	}
	if !slices.Equal(got, want) || s.open[0].Phase != Active {
		t.Errorf("%q", got)
	}
}

// TestJoiningTargets: targets that begin to need the change are members of the last wave, before it begins.
func TestJoiningTargets(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	for name, c := range map[string]struct {
		wave   int
		target Target
		change func(s *State)
		want   bool
	}{
		"early":            {0, Target{Lane: "main", Wants: []Change{web}}, nil, true},
		"in the last wave": {1, Target{Lane: "main", Wants: []Change{web}}, nil, false},
		"another lane":     {0, Target{Lane: "next", Wants: []Change{web}}, nil, false},
		"another change":   {0, Target{Lane: "main", Wants: []Change{db}}, nil, false},
		"replaced":         {0, Target{Lane: "main", Wants: []Change{web, {Part: "top", Digest: "t3"}}}, nil, false},
		"more":             {0, Target{Lane: "main", Wants: []Change{web, db}}, nil, true},
		"skipped": {0, Target{Lane: "main", Wants: []Change{web}},
			func(s *State) { s.skipped["a"] = map[Change]string{web: "r0"} }, false},
		"a member": {0, Target{Lane: "main", Wants: []Change{web}},
			func(s *State) { s.open[0].Members["a"] = &Member{} }, false},
		"it left and wants": {0, Target{Lane: "main", Wants: []Change{web}},
			func(s *State) { s.open[0].Members["a"] = &Member{State: MemberLeft} }, true},
	} {
		s := opened(c.wave, map[ID]*Member{"b": {State: MemberReady, Granted: 1}}, web, Change{Part: "top", Digest: "t2"})
		if c.change != nil {
			c.change(s)
		}
		turn := newTurn(s, World{Targets: map[ID]Target{"a": c.target}}, 1)
		turn.join(s.open[0])
		if joined := len(turn.log) == 1 && turn.log[0].Kind == Joined && turn.log[0].Wave == 1; joined != c.want ||
			len(turn.log) > 1 {
			t.Errorf("%s: %+v", name, turn.log)
		}
	}
}
