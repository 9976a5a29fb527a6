package rollout

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// TestEventsOfARollout: each event about a whole rollout changes it. The bake time, its verdicts and its promotion
// belong to one wave.
func TestEventsOfARollout(t *testing.T) {
	before := func() *Rollout {
		return &Rollout{Phase: Active, Why: "why", By: "ann", Wave: 1, Began: 2, Settled: 3, Period: 4, promoted: true,
			accepted: true, resumed: 5, forgiven: 6, numbers: newTally(nil),
			Plan:     Plan{Waves: []Wave{{}, {Gates: []Gate{{Name: "hook"}}}}},
			Verdicts: map[int]map[string]*GateState{1: {"hook": {Passes: 1}}}}
	}
	none := map[int]map[string]*GateState{}
	for name, c := range map[string]struct {
		e      Event
		change func(r *Rollout)
	}{
		"settled":   {Event{Kind: Settled}, func(r *Rollout) { r.Settled, r.Period, r.Verdicts = 9, 5, none }},
		"unsettled": {Event{Kind: Unsettled}, func(r *Rollout) { r.Settled, r.Period, r.Verdicts = 0, 5, none }},
		"advanced": {Event{Kind: Advanced, Wave: 2}, func(r *Rollout) {
			r.Wave, r.Began, r.Settled, r.Period, r.promoted, r.accepted = 2, 9, 0, 5, false, false
		}},
		"promoted": {Event{Kind: Promoted}, func(r *Rollout) { r.promoted = true }},
		"paused": {Event{Kind: Paused, Why: "new", By: "bob"},
			func(r *Rollout) { r.Phase, r.Why, r.By = OnHold, "new", "bob" }},
		"resumed": {Event{Kind: Resumed, Why: "new", By: "bob"}, func(r *Rollout) {
			r.Why, r.By, r.resumed, r.forgiven, r.accepted, r.Verdicts = "", "", 9, 0, true, before().Verdicts
		}},
		"unwanted": {Event{Kind: Unwanted}, func(r *Rollout) { r.Unwanted = true }},
		"wanted":   {Event{Kind: Wanted}, func(*Rollout) {}},
		"pause": {Event{Kind: Breached, Reaction: Pause, Why: "new"},
			func(r *Rollout) { r.Phase, r.Why, r.Stopped = OnHold, "new", 9 }},
		"abort": {Event{Kind: Breached, Reaction: Abort, Why: "new"},
			func(r *Rollout) { r.Phase, r.Why, r.Stopped = Aborted, "new", 9 }},
		"rollback": {Event{Kind: Breached, Reaction: Rollback, Why: "new"},
			func(r *Rollout) { r.Phase, r.Why, r.Stopped = RollingBack, "new", 9 }},
	} {
		got, want := before(), before()
		c.e.At = 9
		c.change(want)
		if got.fold(c.e); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v\n%+v", name, got, want)
		}
	}
}

// TestForgiven: a resumption accepts the members that failed or are silent by then, without those that failed before.
func TestForgiven(t *testing.T) {
	r := &Rollout{Phase: OnHold, Members: map[ID]*Member{"failed": {State: MemberFailed}, "silent": {State: MemberSilent},
		"ready": {State: MemberReady, forgiven: true}, "lost": {State: MemberFailed, Lost: true},
		"granted": {State: MemberGranted}}}
	r.numbers = newTally(r.Members)
	r.fold(Event{Kind: Resumed, At: 9})
	for id, m := range r.Members {
		if want := m.State == MemberFailed || m.State == MemberSilent; m.forgiven != want {
			t.Errorf("%s is accepted: %t", id, m.forgiven)
		}
	}
	if r.forgiven != 2 || r.Phase != Active {
		t.Errorf("%d members are accepted, and the rollout is %s", r.forgiven, r.Phase)
	}
}

// TestEventsOfAMember: each event about a member changes it, and its content before the first grant is kept.
func TestEventsOfAMember(t *testing.T) {
	earlier := []Change{{Part: "web", Digest: "w1"}}
	first := Member{Wave: 1, State: MemberPending, Granted: 0}
	before := Member{Wave: 1, State: MemberGranted, Granted: 5, Before: earlier, Why: "why", Lost: true, forgiven: true}
	for name, c := range map[string]struct {
		member Member
		e      Event
		change func(m *Member)
	}{
		"granted": {first, Event{Kind: Granted, Before: earlier, Lost: true},
			func(m *Member) { m.State, m.Granted, m.Before, m.Lost = MemberGranted, 9, earlier, true }},
		"granted again": {before, Event{Kind: Granted, Before: []Change{{Part: "web", Digest: "w2"}}},
			func(m *Member) { m.Granted, m.Lost, m.forgiven = 9, false, false }},
		"recovered": {before, Event{Kind: Recovered}, func(m *Member) { m.Granted = 9 }},
		"retried":   {before, Event{Kind: Retried}, func(m *Member) { m.State, m.Granted = MemberPending, 0 }},
		"ready":     {before, Event{Kind: Ready}, func(m *Member) { m.State, m.Lost = MemberReady, false }},
		"left":      {before, Event{Kind: Left}, func(m *Member) { m.State = MemberLeft }},
		"failed":    {before, Event{Kind: Failed}, func(m *Member) { m.State = MemberFailed }},
		"silent":    {before, Event{Kind: Silent}, func(m *Member) { m.State = MemberSilent }},
		"skipped":   {before, Event{Kind: Skipped}, func(m *Member) { m.State = MemberSkipped }},
		"returned":  {before, Event{Kind: Returned}, func(m *Member) { m.State = MemberReturned }},
		"joined":    {before, Event{Kind: Joined, Wave: 2}, func(m *Member) { *m = Member{Wave: 2, State: MemberPending} }},
	} {
		member, want := c.member, c.member
		r := &Rollout{Members: map[ID]*Member{"a": &member}, numbers: newTally(map[ID]*Member{"a": &member})}
		c.e.Target, c.e.At, c.e.Why = "a", 9, "new"
		if want.Why = "new"; c.e.Kind == Joined {
			want.Why = ""
		}
		c.change(&want)
		r.member(c.e)
		if got := r.Members["a"]; !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", name, *got, want)
		}
		if !reflect.DeepEqual(r.numbers, newTally(r.Members)) {
			t.Errorf("%s: the numbers are %+v", name, r.numbers)
		}
	}
}

// TestGrantsOfAMinute: only the grants of the minute before the last one are kept.
func TestGrantsOfAMinute(t *testing.T) {
	r := &Rollout{Members: map[ID]*Member{"a": {}}, numbers: newTally(nil)}
	for _, at := range []int64{10, 20, 69, 79, 80} {
		r.member(Event{Kind: Granted, Target: "a", At: at})
	}
	if !slices.Equal(r.grants, []int64{69, 79, 80}) {
		t.Errorf("%v", r.grants)
	}
}

// TestExclusions: an operator excludes a target from the changes of a rollout. The exclusion ends when the target is
// retried, or leaves.
func TestExclusions(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2", Adds: true}, Change{Part: "db", Digest: "d2"}
	skip := Event{Kind: Skipped, Target: "a"}
	for name, c := range map[string]struct {
		log  []Event
		want string
	}{
		"skipped":       {[]Event{skip}, "r1"},
		"skipped twice": {[]Event{skip, skip}, "r1"},
		"retried":       {[]Event{skip, {Kind: Retried, Target: "a"}}, ""},
		"left":          {[]Event{skip, {Kind: Left, Target: "a"}}, ""},
		"failed":        {[]Event{skip, {Kind: Failed, Target: "a"}}, "r1"},
		"another one":   {[]Event{{Kind: Skipped, Target: "b"}, {Kind: Retried, Target: "b"}}, ""},
	} {
		s := NewState()
		s.Fold(Event{Rollout: "r1", Kind: Created, Created: &Plan{Lane: "main", Changes: []Change{db, web}}})
		for _, e := range c.log {
			e.Rollout = "r1"
			s.Fold(e)
		}
		for _, change := range []Change{web, db, {Part: "web", Digest: "w2"}} {
			if got := s.skipped.by("a", change); got != c.want {
				t.Errorf("%s: %v is excluded by %q", name, change, got)
			}
		}
		if r := s.Rollouts["r1"]; s.excludes("a", r) != (c.want != "") || s.skips(r, "a") != (c.want != "") {
			t.Errorf("%s: the target is excluded: %t", name, c.want == "")
		}
		if by := s.skipped.by("a", Change{Part: "web", Digest: "w3"}); by != "" {
			t.Errorf("%s: other content is excluded by %s", name, by)
		}
	}
}

// TestSides: a comparison has the ready members, and the members of later waves that never had the change.
func TestSides(t *testing.T) {
	before := []Change{{Part: "web", Digest: "w1"}}
	r := &Rollout{Wave: 1, Members: map[ID]*Member{
		"ready1": {Wave: 0, State: MemberReady}, "ready2": {Wave: 1, State: MemberReady},
		"ready3": {Wave: 2, State: MemberReady}, "pending": {Wave: 1, State: MemberPending},
		"failed": {Wave: 1, State: MemberFailed},
		"later1": {Wave: 2, State: MemberPending}, "later2": {Wave: 3, State: MemberPending},
		"had": {Wave: 2, State: MemberPending, Before: before}, "has": {Wave: 2, State: MemberPending, Granted: 1},
		"left": {Wave: 2, State: MemberLeft}}}
	with, without := r.Sides()
	if got := fmt.Sprint(with, without); got != "[ready1 ready2 ready3] [later1 later2]" {
		t.Error(got)
	}
}

// TestVoidComparison: a comparison has no meaning without members in a later wave, or without members so far.
func TestVoidComparison(t *testing.T) {
	member := func(wave int, s MemberState) *Member { return &Member{Wave: wave, State: s} }
	for name, c := range map[string]struct {
		members map[ID]*Member
		want    bool
	}{
		"on both sides":       {map[ID]*Member{"a": member(1, MemberReady), "b": member(2, MemberPending)}, false},
		"in the first wave":   {map[ID]*Member{"a": member(0, MemberReady), "b": member(2, MemberPending)}, false},
		"none later":          {map[ID]*Member{"a": member(0, MemberReady), "b": member(1, MemberPending)}, true},
		"none so far":         {map[ID]*Member{"a": member(2, MemberPending)}, true},
		"all later ones left": {map[ID]*Member{"a": member(1, MemberReady), "b": member(2, MemberLeft)}, true},
	} {
		r := &Rollout{Plan: Plan{Waves: []Wave{{}, {}, {}}}, Members: c.members, numbers: newTally(c.members)}
		if r.Void(1, Gate{Type: CompareGate}) != c.want || r.Void(1, Gate{Type: MetricGate}) {
			t.Errorf("%s: the comparison has no meaning: %t", name, !c.want)
		}
	}
}

// TestStatistics: the median, the smallest probability, and the worst value that is permitted.
func TestStatistics(t *testing.T) {
	for want, all := range map[float64][]float64{3: {3}, 4: {5, 3}, 5: {9, 1, 5}, 2.5: {4, 1, 2, 3}} {
		if got := median(all); got != want {
			t.Errorf("%v: %v, want %v", all, got, want)
		}
	}
	for sizes, want := range map[[2]int]float64{{1, 1}: 1.0 / 2, {1, 3}: 1.0 / 4, {3, 1}: 1.0 / 4, {2, 2}: 1.0 / 6,
		{5, 5}: 1.0 / 252} {
		if got := rarest(sizes[0], sizes[1]); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("%v: %v, want %v", sizes, got, want)
		}
	}
	for _, c := range []struct {
		gate        Gate
		value, want float64
	}{
		{Gate{}, 8, 8}, {Gate{MaxRatio: 2}, 8, 16}, {Gate{MaxRatio: 0.5}, 8, 8}, {Gate{MaxRatio: 2, Margin: 1}, 8, 17},
		{Gate{MaxRatio: 2, Margin: 1}, -8, -3}, {Gate{MaxRatio: 2, Margin: 1}, 0, 1},
		{Gate{MaxRatio: 2, Margin: 1, Lower: true}, 8, 3}, {Gate{MaxRatio: 2, Margin: 1, Lower: true}, -8, -17},
	} {
		if got := c.gate.permitted(c.value); got != c.want {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}
