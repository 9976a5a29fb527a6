package rollout

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func percent(n int) Amount { return Amount{Number: n, Percent: true} }

// TestDefaultStrategies: the strategies of fleets that configure none.
func TestDefaultStrategies(t *testing.T) {
	const minute, day = 60, 86400
	careful := Strategy{Name: "careful", Waves: []WaveRule{
		{Name: "first", Size: Amount{Number: 1}, MaxUnavailable: Amount{Number: 1}},
		{Name: "early", Size: percent(10), MaxUnavailable: percent(25)},
		{Name: "rest", MaxUnavailable: percent(25)}},
		MaxSilent: percent(2), MinReady: percent(95), MinCoverage: percent(50), MinReadyTime: 10,
		ProgressDeadline: 15 * minute, SilentAfter: 5 * minute, WaveTimeout: day, OnBreach: Rollback}
	atOnce := Strategy{Name: "at-once", Waves: []WaveRule{{Name: "all", MaxUnavailable: percent(100)}},
		MaxFailed: percent(100), MaxSilent: percent(100), ProgressDeadline: 15 * minute, SilentAfter: 5 * minute,
		WaveTimeout: day, OnBreach: Pause}
	if !reflect.DeepEqual(Careful(), careful) || !reflect.DeepEqual(AtOnce(), atOnce) {
		t.Errorf("%+v\n%+v", Careful(), AtOnce())
	}
}

// TestAmountsOfAGroup: limits and tolerances are rounded down, and minimums up. A limit is at least 1.
func TestAmountsOfAGroup(t *testing.T) {
	for _, c := range []struct {
		a                         Amount
		n                         int
		limit, tolerance, minimum int
	}{
		{Amount{}, 10, 1, 0, 0}, {Amount{Number: 3}, 10, 3, 3, 3}, {Amount{Number: 30}, 10, 10, 10, 10},
		{percent(1), 100, 1, 1, 1}, {percent(1), 99, 1, 0, 1}, {percent(25), 7, 1, 1, 2}, {percent(25), 8, 2, 2, 2},
		{percent(50), 201, 100, 100, 101}, {percent(100), 7, 7, 7, 7}, {percent(95), 0, 1, 0, 0},
	} {
		if l, tol, m := limit(c.a, c.n), tolerance(c.a, c.n), minimum(c.a, c.n); l != c.limit || tol != c.tolerance ||
			m != c.minimum {
			t.Errorf("%+v of %d: limit %d, tolerance %d, minimum %d", c.a, c.n, l, tol, m)
		}
	}
}

// TestDefinitions: the stored form of a strategy has its selections and gates, and is the same only without
// differences.
func TestDefinitions(t *testing.T) {
	s := Careful()
	s.Waves[0].Selected = map[ID]bool{"b": true, "a": true}
	s.Waves[1].Selected = map[ID]bool{}
	s.Waves[2].Gates = []Gate{{Name: "board"}}
	d := define(s)
	want := []DefinedWave{{Selected: []ID{"a", "b"}}, {}, {All: true, Gates: []Gate{{Name: "board"}}}}
	if !reflect.DeepEqual(d.Waves, want) || d.Strategy.Waves[0].Selected != nil || d.Strategy.Waves[2].Gates != nil {
		t.Errorf("%+v", d)
	}
	if back := d.strategy(); !reflect.DeepEqual(back, s) || len(s.Waves[0].Selected) != 2 {
		t.Errorf("%+v", back)
	}
	if none := (*Definition)(nil); d.Parts() != 2 || none.Parts() != 0 {
		t.Errorf("%d parts", d.Parts())
	}
	other := define(s)
	if !d.same(other) {
		t.Error("two definitions of a strategy differ")
	}
	if other.Strategy.Rate = 1; d.same(other) {
		t.Error("definitions of different strategies are the same")
	}
	short := Definition{Strategy: Careful(), Waves: d.Waves[:1]}
	if got := short.strategy(); len(got.Waves) != 3 || len(got.Waves[0].Selected) != 2 || got.Waves[1].Selected != nil {
		t.Errorf("%+v", got)
	}
	long := Definition{Strategy: Strategy{Waves: Careful().Waves[:1]}, Waves: d.Waves}
	if got := long.strategy(); len(got.Waves) != 1 || len(got.Waves[0].Selected) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestSortedChanges: changes are sorted by part, content and kind, without duplicates.
func TestSortedChanges(t *testing.T) {
	want := []Change{{Part: "db"}, {Part: "db", Digest: "d1"}, {Part: "web", Digest: "w1"},
		{Part: "web", Digest: "w1", Adds: true}, {Part: "web", Digest: "w2"}}
	mixed := []Change{want[4], want[1], want[3], want[0], want[2], want[1], want[4]}
	if got := sortedChanges(mixed); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestOwedParts: parts are owed to targets until an event ends this, and a snapshot has them by part.
func TestOwedParts(t *testing.T) {
	o := owed{}
	for _, e := range []Event{{Kind: Owed, Part: "web", Targets: []ID{"b", "a"}},
		{Kind: Owed, Part: "db", Targets: []ID{"a"}}, {Kind: Owed, Part: "top", Targets: []ID{"c"}},
		{Kind: NotOwed, Part: "top", Targets: []ID{"c"}},
		{Kind: NotOwed, Part: "db", Targets: []ID{"b", "d"}}} {
		o.fold(e)
	}
	if got := fmt.Sprint(o.byPart()); got != "map[db:[a] web:[a b]]" || len(o) != 2 {
		t.Errorf("%s, %v", got, o)
	}
	s := Snapshot{Owed: o.byPart()}.State()
	if !reflect.DeepEqual(s.owed, o) || !s.IsOwed("a", "db") || s.IsOwed("b", "db") || owed(nil).byPart() != nil {
		t.Errorf("%v", s.owed)
	}
}

// TestNumbersOfRollouts: the ID of a rollout has its number.
func TestNumbersOfRollouts(t *testing.T) {
	for id, want := range map[string]int{"r1": 1, "r20": 20, "": 0, "r": 0, "rx": 0, "7": 0} {
		if got := number(id); got != want {
			t.Errorf("%q: %d, want %d", id, got, want)
		}
	}
	s := NewState()
	for _, n := range []int{2, 10, 1} {
		s.Fold(Event{Rollout: name(n), Kind: Created, Created: &Plan{}})
	}
	all := s.All()
	if len(all) != 3 || all[0].ID != "r10" || all[1].ID != "r2" || all[2].ID != "r1" || s.next != 11 {
		t.Errorf("%v, the next one is %d", all, s.next)
	}
	if len(s.Open()) != 3 || s.Open()[0].ID != "r2" || s.Open()[2].ID != "r1" {
		t.Errorf("%v are open", s.Open())
	}
	s.Fold(Event{Rollout: "r2", Kind: Ended, Phase: Superseded})
	if len(s.Open()) != 2 || s.Open()[0].ID != "r10" {
		t.Errorf("%v are open", s.Open())
	}
}

// TestFreeContent: only stable content of the lane is free, and neither the removal nor the addition of a part.
func TestFreeContent(t *testing.T) {
	s := NewState()
	s.stable["main"] = map[string]string{"web": "w1", "gone": ""}
	for c, want := range map[Change]bool{{Part: "web", Digest: "w1"}: true, {Part: "web", Digest: "w2"}: false,
		{Part: "web"}: false, {Part: "web", Digest: "w1", Adds: true}: false, {Part: "gone"}: false,
		{Part: "db", Digest: "d1"}: false, {Part: "db"}: false} {
		if s.free("main", c) != want || s.free("next", c) {
			t.Errorf("%v is free: %t", c, !want)
		}
	}
}

// TestAdditions: a stable part that a target lacks is an addition, unless it is owed. So is the stable content for a
// target with foreign content.
func TestAdditions(t *testing.T) {
	stable, newer := Change{Part: "web", Digest: "w1"}, Change{Part: "web", Digest: "w2"}
	isOwed := func(s *State) { s.owed["a"] = map[string]bool{"web": true} }
	held := func(c Change) func(s *State) {
		return func(s *State) { s.held[place{"main", c}] = "r1" }
	}
	for name, c := range map[string]struct {
		target  Target
		change  Change
		prepare func(s *State)
		want    bool
	}{
		"missing":          {Target{Missing: []string{"web"}}, stable, nil, true},
		"not missing":      {Target{Missing: []string{"db"}}, stable, nil, false},
		"owed":             {Target{Missing: []string{"web"}}, stable, isOwed, false},
		"foreign":          {Target{Foreign: []string{"web"}}, stable, nil, true},
		"foreign and owed": {Target{Foreign: []string{"web"}}, stable, isOwed, true},
		"newer content":    {Target{Missing: []string{"web"}}, newer, nil, false},
		"a held addition":  {Target{Missing: []string{"web"}}, newer, held(Change{"web", "w2", true}), true},
		"held content":     {Target{Missing: []string{"web"}}, newer, held(newer), false},
		"a removal":        {Target{Missing: []string{"web"}}, Change{Part: "web"}, nil, false},
		"marked before":    {Target{}, Change{"web", "w1", true}, nil, false},
	} {
		s := NewState()
		s.stable["main"] = map[string]string{"web": "w1"}
		if c.prepare != nil {
			c.prepare(s)
		}
		c.target.Lane, c.target.Wants = "main", []Change{c.change}
		got, want := s.addition("a", c.target, c.change), Change{c.change.Part, c.change.Digest, c.want}
		if got != want {
			t.Errorf("%s: %v", name, got)
		}
		w := World{Targets: map[ID]Target{"a": c.target}}
		if changed := mark(s, w, []ID{"a"}); w.Targets["a"].Wants[0] != want || changed != (want != c.change) ||
			c.target.Wants[0] != c.change {
			t.Errorf("%s: the world is changed: %t, %v", name, changed, w.Targets["a"].Wants)
		}
	}
}

// TestWantedChanges: a decision knows the targets of each change, also after a change becomes an addition.
func TestWantedChanges(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w1"}, Change{Part: "db", Digest: "d1"}
	s := NewState()
	turn := newTurn(s, World{Targets: map[ID]Target{"b": {Lane: "main", Wants: []Change{db, web}},
		"a": {Lane: "main", Wants: []Change{web}, Missing: []string{"web"}}, "c": {Lane: "main", Wants: []Change{db}}}}, 1)
	for want, all := range map[string][]Change{"[a b]": {web}, "[b c]": {db}, "[a b c]": {web, db}, "[]": nil} {
		if got := fmt.Sprint(turn.want(all)); got != want {
			t.Errorf("%v: %s, want %s", all, got, want)
		}
	}
	s.stable["main"] = map[string]string{"web": "w1"}
	turn.mark()
	adds := Change{Part: "web", Digest: "w1", Adds: true}
	if got := fmt.Sprint(turn.want([]Change{web}), turn.want([]Change{adds})); got != "[b] [a]" {
		t.Error(got)
	}
}
