package rollout

import (
	"fmt"
	"testing"
)

// opened returns a state with an open rollout r1 of the lane main, with one member.
func opened(wave int, members map[ID]*Member, changes ...Change) *State {
	s := NewState()
	r := &Rollout{ID: "r1", Phase: Active, Wave: wave, Members: members,
		Plan: Plan{Lane: "main", Changes: changes, Waves: []Wave{{}, {}}}}
	r.numbers = newTally(members)
	s.Rollouts["r1"], s.open = r, []*Rollout{r}
	return s
}

// TestOrderedParts: new labels order a stable part if nothing else is the reason why the target lacks it.
func TestOrderedParts(t *testing.T) {
	web, adds := Change{Part: "web", Digest: "w1"}, Change{Part: "web", Digest: "w1", Adds: true}
	db, top := Change{Part: "db", Digest: "d1"}, Change{Part: "top", Digest: "t2"}
	member := map[ID]*Member{"a": {State: MemberPending}}
	target := Target{Lane: "main", Wants: []Change{adds}, Missing: []string{"web"}}
	isOwed := func(s *State, _ *Target) { s.owed["a"] = map[string]bool{"web": true} }
	next := func(s *State, _ *Target) { s.open[0].Plan.Lane = "next" }
	wants := func(all ...Change) func(*State, *Target) {
		return func(_ *State, target *Target) { target.Wants = all }
	}
	for name, c := range map[string]struct {
		s      *State
		change func(s *State, target *Target)
		want   bool
	}{
		"labels":                      {NewState(), nil, true},
		"it is owed already":          {NewState(), isOwed, false},
		"a rollout of the target":     {opened(0, member, web), nil, false},
		"a rollout of another part":   {opened(0, member, db), nil, true},
		"a rollout of others":         {opened(0, nil, web), nil, true},
		"a rollout that adds it":      {opened(0, nil, adds), nil, false},
		"it adds it in another lane":  {opened(0, nil, adds), next, true},
		"the target left the rollout": {opened(0, map[ID]*Member{"a": {State: MemberLeft}}, web), nil, true},
		"a commit with other content": {NewState(), wants(top, adds), false},
		"a commit that removes":       {NewState(), wants(Change{Part: "top"}, adds), true},
		"the addition is held":        {NewState(), func(s *State, _ *Target) { s.held[place{"main", adds}] = "r0" }, false},
		"the addition of another is held": {NewState(), func(s *State, target *Target) {
			s.held[place{"main", Change{"db", "d1", true}}] = "r0"
			target.Wants, target.Missing = []Change{{"db", "d1", true}, adds}, []string{"db", "web"}
		}, true},
	} {
		s, target := c.s, target
		s.stable["main"] = map[string]string{"web": "w1", "db": "d1"}
		if c.change != nil {
			c.change(s, &target)
		}
		turn := newTurn(s, World{Targets: map[ID]Target{"a": target}}, 1)
		if got := (owing{turn}).orders("a", target, "web"); got != c.want {
			t.Errorf("%s: it is ordered: %t", name, got)
		}
	}
}

// TestLateParts: a new target gets a part later if the part depends on others, or if its rollout began its last wave.
func TestLateParts(t *testing.T) {
	web, waits := Change{Part: "web", Digest: "w2"}, Target{Waits: map[string]string{"web": "it waits"}}
	for name, c := range map[string]struct {
		s      *State
		target Target
		want   bool
	}{
		"no rollout":           {NewState(), Target{}, false},
		"it depends":           {NewState(), waits, true},
		"it is a member":       {opened(1, map[ID]*Member{"a": {}}, web), Target{}, false},
		"it is not":            {opened(1, nil, web), Target{}, true},
		"it left":              {opened(1, map[ID]*Member{"a": {State: MemberLeft}}, web), Target{}, true},
		"of another part":      {opened(1, nil, Change{Part: "db", Digest: "d2"}), Target{}, false},
		"a member, it depends": {opened(1, map[ID]*Member{"a": {}}, web), waits, true},
	} {
		c.target.Lane, c.target.Wants, c.target.New = "main", []Change{web}, true
		turn := newTurn(c.s, World{Targets: map[ID]Target{"a": c.target}}, 1)
		if got := (owing{turn}).isLate("a", c.target, web); got != c.want {
			t.Errorf("%s: it gets the part later: %t", name, got)
		}
	}
}

// TestOwedAfterTheEnd: a complete rollout owes its proved parts to the members that lack them and did not leave. The
// end of this is noted.
func TestOwedAfterTheEnd(t *testing.T) {
	web, db, top := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}, Change{Part: "top", Digest: "t2"}
	all := []Change{db, top, web}
	members := map[ID]*Member{"1left": {State: MemberLeft}, "owed": {}, "both": {}, "has": {}, "other": {}}
	s := opened(1, members, db, web)
	s.owed["owed"] = map[string]bool{"web": true}
	w := World{Targets: map[ID]Target{"1left": {Wants: all, Missing: []string{"web"}},
		"owed": {Wants: all, Missing: []string{"web"}}, "both": {Wants: all, Missing: []string{"db", "top", "web"}},
		"has": {Wants: all}, "other": {Wants: []Change{{Part: "web", Digest: "w3"}}, Missing: []string{"web"}}}}
	turn := newTurn(s, w, 1)
	owing{turn}.left(s.open[0], []Change{db})
	if got := fmt.Sprint(turn.log[0].Kind, turn.log[0].Part, turn.log[0].Targets); len(turn.log) != 1 ||
		got != "owedweb[both]" {
		t.Errorf("%+v", turn.log)
	}
	s.owed = owed{"gone": {"web": true}, "new": {"web": true}, "has": {"web": true}, "lacks": {"web": true, "db": true}}
	w.Targets = map[ID]Target{"new": {New: true}, "has": {}, "lacks": {Missing: []string{"web"}}}
	turn = newTurn(s, w, 1)
	owing{turn}.end()
	got := ""
	for _, e := range turn.log {
		got += fmt.Sprint(e.Kind, e.Part, e.Targets)
	}
	if got != "not-oweddb[lacks]not-owedweb[gone has]" {
		t.Error(got)
	}
}

// TestMayHave: a target may have a change without the changes that it requires, if it is stable and does not wait, or
// if it was granted.
func TestMayHave(t *testing.T) {
	web := Change{Part: "web", Digest: "w2"}
	granted := map[ID]*Member{"a": {State: MemberGranted, Granted: 1}}
	waits := map[string]string{"web": "it waits"}
	for name, c := range map[string]struct {
		s      *State
		target Target
		want   bool
	}{
		"granted":               {opened(0, granted, web), Target{}, true},
		"granted, it waits":     {opened(0, granted, web), Target{Waits: waits}, true},
		"not granted":           {opened(0, nil, web), Target{}, false},
		"it catches up":         {NewState(), Target{}, true},
		"it catches up, waits":  {NewState(), Target{Waits: waits}, false},
		"it catches up, others": {NewState(), Target{Lane: "next"}, false},
	} {
		if len(c.s.open) == 0 {
			c.s.stable["main"], c.s.catching["a"] = map[string]string{"web": "w2"}, CatchUp{}
		}
		if c.target.Lane == "" {
			c.target.Lane = "main"
		}
		if got := (requiring{c.s, "a", c.target}).may(web); got != c.want {
			t.Errorf("%s: it may have the change: %t", name, got)
		}
	}
}

// TestRequiredStableContent: a target does not catch up with a change that requires a change that it cannot have.
func TestRequiredStableContent(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w1"}, Change{Part: "db", Digest: "d1"}
	for name, c := range map[string]struct {
		wants   []Change
		waits   map[string]string
		skipped exclusions
		want    bool
	}{
		"stable":        {[]Change{db, web}, nil, exclusions{}, false},
		"not stable":    {[]Change{{Part: "db", Digest: "d2"}, web}, nil, exclusions{}, true},
		"it waits":      {[]Change{db, web}, map[string]string{"db": "it waits"}, exclusions{}, true},
		"it is there":   {[]Change{web}, nil, exclusions{}, false},
		"it is skipped": {[]Change{db, web}, nil, exclusions{"a": {db: "r1"}}, true},
	} {
		s := NewState()
		s.stable["main"], s.skipped = map[string]string{"web": "w1", "db": "d1"}, c.skipped
		target := Target{Lane: "main", Wants: c.wants, Waits: c.waits,
			Requires: map[string][]Required{"web": {{Part: "db", Why: "web needs db"}}}}
		if got := (requiring{s, "a", target}).unstable(web); got != c.want {
			t.Errorf("%s: it waits: %t", name, got)
		}
	}
}

// TestRequiredInARollout: a member cannot get the changes of a rollout that require a change which does not arrive with
// them.
func TestRequiredInARollout(t *testing.T) {
	web, db := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}
	for name, c := range map[string]struct {
		changes  []Change
		requires bool
		skipped  exclusions
		want     string
	}{
		"alone":           {[]Change{web}, true, exclusions{}, "web needs db"},
		"both":            {[]Change{db, web}, true, exclusions{}, ""},
		"both, skipped":   {[]Change{db, web}, true, exclusions{"a": {db: "r0"}}, "web needs db"},
		"the other one":   {[]Change{db}, true, exclusions{}, ""},
		"no requirements": {[]Change{web}, false, exclusions{}, ""},
	} {
		s := opened(0, nil, c.changes...)
		s.skipped = c.skipped
		target := Target{Lane: "main", Wants: []Change{db, web}}
		if c.requires {
			target.Requires = map[string][]Required{"web": {{Part: "db", Why: "web needs db"}}}
		}
		why, first := requiring{s, "a", target}.absent(s.open[0])
		if why != c.want || why != "" && first != db {
			t.Errorf("%s: %q, %v", name, why, first)
		}
	}
}

// TestPostponedChanges: a change waits for the end of the oldest rollout with the required change.
func TestPostponedChanges(t *testing.T) {
	web, db, top := Change{Part: "web", Digest: "w2"}, Change{Part: "db", Digest: "d2"}, Change{Part: "top", Digest: "t2"}
	rollout := func(id, lane string, c Change) *Rollout {
		return &Rollout{ID: id, Plan: Plan{Lane: lane, Changes: []Change{c}}}
	}
	requires := func(part string) map[string][]Required {
		return map[string][]Required{"web": {{Part: part, Why: "web needs " + part}}}
	}
	s := NewState()
	s.open = []*Rollout{rollout("r9", "main", db), rollout("r10", "main", top), rollout("r11", "next", db)}
	w := World{Targets: map[ID]Target{}}
	for i := range 8 {
		w.Targets[ID(fmt.Sprint("a", i))] = Target{Lane: "main", Wants: []Change{db, top, web}, Requires: requires("db")}
		w.Targets[ID(fmt.Sprint("b", i))] = Target{Lane: "main", Wants: []Change{db, top, web}, Requires: requires("top")}
	}
	w.Targets["other"] = Target{Lane: "other", Wants: []Change{db, web}, Requires: requires("db")}
	w.Targets["none"] = Target{Lane: "next", Wants: []Change{db, web}}
	for range 10 {
		if got := fmt.Sprint(postponed(s, w)); got != "map[main:map[{web w2 false}:r9]]" {
			t.Fatal(got)
		}
	}
}
