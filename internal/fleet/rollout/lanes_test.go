package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLaneInForce: a target keeps its recorded lane while its desired content selects the same branch. Changes of a
// strategy without waves do not wait.
func TestLaneInForce(t *testing.T) {
	for name, c := range map[string]struct{ known, chosen, want string }{
		"first":                    {"", "main careful", "main careful"},
		"at once":                  {"", "main at-once", ""},
		"another strategy":         {"main careful", "main other", "main careful"},
		"at once, recorded":        {"main careful", "main at-once", "main careful"},
		"another branch":           {"main careful", "next other", "next other"},
		"another branch, at once":  {"main careful", "next at-once", ""},
		"nothing selected":         {"", "", ""},
		"nothing selected anymore": {"main careful", "", ""},
	} {
		s := NewState()
		if s.lanes["a"] = c.known; c.known == "" {
			delete(s.lanes, "a")
		}
		if got := s.Lane("a", c.chosen); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if s.Known("a") != (c.known != "") || s.HasLanes() != s.Known("a") || s.uses("main careful") != s.Known("a") ||
			s.uses("other") {
			t.Errorf("%s: the lane is recorded: %t", name, s.Known("a"))
		}
	}
	for lane, want := range map[string][3]string{"main careful": {"main", "careful", "true"},
		"main at-once": {"main", "at-once", "false"}, "": {"", "", "false"}, "main": {"main", "", "true"}} {
		if branchOf(lane) != want[0] || StrategyOf(lane) != want[1] || fmt.Sprint(inWaves(lane)) != want[2] {
			t.Errorf("%q: %s, %s, %t", lane, branchOf(lane), StrategyOf(lane), inWaves(lane))
		}
	}
}

// TestMove: a target leaves its recorded lane if it has its whole content, whose root passed, and no rollout judges it.
func TestMove(t *testing.T) {
	wants := []Change{{Part: "web", Digest: "w2"}}
	for name, c := range map[string]struct {
		known   string
		target  Target
		prepare func(s *State)
		want    string
	}{
		"it has its content":   {"main careful", Target{Chosen: "main other"}, nil, "main other"},
		"it lacks content":     {"main careful", Target{Chosen: "main other", Wants: wants}, nil, "main careful"},
		"it is new":            {"main careful", Target{Chosen: "main other", Wants: wants, New: true}, nil, "main other"},
		"another branch":       {"main careful", Target{Chosen: "next other", Wants: wants}, nil, "next other"},
		"the same lane":        {"main careful", Target{Chosen: "main careful"}, nil, "main careful"},
		"nothing selected":     {"main careful", Target{}, nil, "main careful"},
		"for the first time":   {"", Target{Chosen: "main careful", Wants: wants}, nil, "main careful"},
		"at once":              {"", Target{Chosen: "main at-once", Wants: wants}, nil, ""},
		"at once, to a branch": {"main careful", Target{Chosen: "next at-once", Wants: wants}, nil, ""},
		"it catches up": {"main careful", Target{Chosen: "main other"},
			func(s *State) { s.catching["a"] = CatchUp{} }, "main careful"},
		"it is a member": {"main careful", Target{Chosen: "main other"},
			func(s *State) { joined(s, MemberReady) }, "main careful"},
		"it was a member": {"main careful", Target{Chosen: "main other"},
			func(s *State) { joined(s, MemberLeft) }, "main other"},
		"the root part is held": {"main careful", Target{Chosen: "main other"},
			func(s *State) { s.held[place{"main careful", Change{Part: RootPart, Digest: "t1"}}] = "r1" }, "main careful"},
	} {
		s := NewState()
		if c.known != "" {
			s.lanes["a"] = c.known
		}
		if c.prepare != nil {
			c.prepare(s)
		}
		c.target.Lane = s.Lane("a", c.target.Chosen)
		w := World{Targets: map[ID]Target{"a": c.target}, Has: func(ID, string) string { return "t1" }}
		newTurn(s, w, 1).move()
		if got := s.lanes["a"]; got != c.want {
			t.Errorf("%s: the lane is %q, want %q", name, got, c.want)
		}
		now := w.Targets["a"]
		if kept := c.known == "" || c.want != ""; now.Lane != s.Lane("a", c.target.Chosen) ||
			(len(now.Wants) == len(c.target.Wants)) != kept {
			t.Errorf("%s: the world has the lane %q and %v", name, now.Lane, now.Wants)
		}
	}
}

// joined adds an open rollout with one member.
func joined(s *State, state MemberState) {
	s.open = []*Rollout{{ID: "r1", Members: map[ID]*Member{"a": {State: state}}}}
}

// TestForgottenLanes: the lanes of targets that are not active any more are removed.
func TestForgottenLanes(t *testing.T) {
	s := NewState()
	s.lanes["a"], s.lanes["b"], s.lanes["c"] = "main careful", "main careful", "main careful"
	turn := newTurn(s, World{Targets: map[ID]Target{"b": {}}}, 7)
	turn.forget()
	if len(turn.log) != 1 || turn.log[0].Lane != "" || !slices.Equal(turn.log[0].Targets, []ID{"a", "c"}) ||
		turn.log[0].At != 7 || len(s.lanes) != 1 {
		t.Errorf("%+v", turn.log)
	}
}

// TestLacksStable: a target catches up with stable content that it lacks, unless something else keeps it from this.
func TestLacksStable(t *testing.T) {
	web := Change{Part: "web", Digest: "w1"}
	newer, adds := Change{Part: "web", Digest: "w2"}, Change{Part: "web", Digest: "w1", Adds: true}
	owed := func(part string) func(s *State) {
		return func(s *State) { s.owed["a"] = map[string]bool{part: true} }
	}
	skipped := func(id ID) func(s *State) {
		return func(s *State) { s.skipped[id] = map[Change]string{web: "r1"} }
	}
	for name, c := range map[string]struct {
		target  Target
		prepare func(s *State)
		want    bool
	}{
		"stable content":         {Target{Wants: []Change{web}}, nil, true},
		"none":                   {Target{}, nil, false},
		"newer content":          {Target{Wants: []Change{newer}}, nil, false},
		"newer content, new":     {Target{Wants: []Change{newer}, New: true}, nil, true},
		"newer content, owed":    {Target{Wants: []Change{newer}}, owed("web"), true},
		"another part is owed":   {Target{Wants: []Change{newer}}, owed("db"), false},
		"a part that is unknown": {Target{Wants: []Change{{Part: "db", Digest: "d1"}}, New: true}, nil, false},
		"an addition":            {Target{Wants: []Change{adds}}, nil, false},
		"an addition, new":       {Target{Wants: []Change{adds}, New: true}, nil, false},
		"a removal":              {Target{Wants: []Change{{Part: "web"}}}, nil, false},
		"it depends":             {Target{Wants: []Change{web}, Waits: map[string]string{"web": "it waits"}}, nil, false},
		"it is skipped":          {Target{Wants: []Change{web}}, skipped("a"), false},
		"another is skipped":     {Target{Wants: []Change{web}}, skipped("b"), true},
		"it is granted": {Target{Wants: []Change{web}}, func(s *State) {
			joined(s, MemberGranted)
			s.open[0].Members["a"].Granted, s.open[0].Plan.Changes = 1, []Change{web}
		}, false},
		"it requires newer content": {Target{Wants: []Change{web, {Part: "db", Digest: "d2"}},
			Requires: map[string][]Required{"web": {{Part: "db", Why: "web needs db"}}}}, nil, false},
	} {
		s := NewState()
		s.stable["main"] = map[string]string{"web": "w1"}
		if c.prepare != nil {
			c.prepare(s)
		}
		c.target.Lane = "main"
		w := World{Targets: map[ID]Target{"a": c.target}}
		if newTurn(s, w, 1).lacksStable("a", c.target) != c.want {
			t.Errorf("%s: it lacks stable content: %t", name, !c.want)
		}
	}
}

// TestProgressOfCatchUp: a target that catches up has the content and is ready, fails, loses contact, or is too late.
func TestProgressOfCatchUp(t *testing.T) {
	strategy := Strategy{ProgressDeadline: 100, SilentAfter: 50}
	wants := []Change{{Part: "web", Digest: "w1"}}
	at := CatchUp{Lane: "main", At: 1000}
	free := CatchUp{Lane: "main", At: 1000, Free: true}
	for name, c := range map[string]struct {
		catch  CatchUp
		target Target
		now    int64
		is     stage
		why    string
	}{
		"it gets the content":   {at, Target{Wants: wants, Online: true}, 1099, underway, ""},
		"it does not get it":    {at, Target{Wants: wants, Online: true}, 1100, tooLate, ""},
		"without a place":       {free, Target{Wants: wants, Online: true}, 1100, underway, ""},
		"it must not change":    {at, Target{Wants: wants, Online: true, Hold: "a freeze"}, 1001, over, ""},
		"it has no contact":     {at, Target{Wants: wants}, 1001, over, ""},
		"it has another lane":   {CatchUp{Lane: "next", At: 1000}, Target{Wants: wants, Online: true}, 1001, over, ""},
		"it applies":            {at, Target{Health: Applying, Online: true}, 1099, underway, ""},
		"it has it, no place":   {free, Target{Health: Applying, Online: true}, 1001, over, ""},
		"it is ready":           {at, Target{Health: Healthy, Online: true}, 1001, over, ""},
		"it fails":              {at, Target{Health: Broken, Online: true}, 1001, over, "failed"},
		"it is silent":          {at, Target{Health: Applying, Contact: 1000}, 1050, over, "have no contact"},
		"it is silent, not yet": {at, Target{Health: Applying, Contact: 1000}, 1049, underway, ""},
		"it needs too long":     {at, Target{Health: Applying, Online: true}, 1100, over, "are not ready in time"},
	} {
		s := NewState()
		s.stable["main"] = map[string]string{"web": "w1"}
		c.target.Lane = "main"
		turn := newTurn(s, World{Targets: map[ID]Target{"a": c.target}}, c.now)
		if is, why := turn.progress("a", c.catch, strategy); is != c.is || why != c.why {
			t.Errorf("%s: %d %q", name, is, why)
		}
	}
	if is, _ := newTurn(NewState(), World{}, 1001).progress("a", at, strategy); is != over {
		t.Error("a target that is not active catches up")
	}
}

// TestAdmission: the strategy limits the targets that catch up at the same time and within a minute, and new targets
// have places of their own. A target that failed takes none.
func TestAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		old, fresh, broken, rate, catching int
		want                               string
	}{
		"two places":          {5, 0, 0, 0, 0, "2 old"},
		"one is taken":        {5, 0, 0, 0, 1, "1 old"},
		"all are taken":       {5, 0, 0, 0, 2, ""},
		"new ones":            {0, 5, 0, 0, 0, "2 new"},
		"both":                {5, 5, 0, 0, 0, "2 old 2 new"},
		"both, one is taken":  {5, 5, 0, 0, 1, "1 old 2 new"},
		"those that failed":   {0, 0, 3, 0, 2, "3 free"},
		"at a rate":           {5, 5, 0, 1, 0, "1 old"},
		"at a rate with some": {5, 5, 0, 3, 1, "1 old 1 new"},
		"failed, at a rate":   {5, 0, 2, 1, 1, "2 free"},
	} {
		s := NewState()
		w := World{Targets: map[ID]Target{}, Strategy: func(string, []Change) Strategy {
			waves := []WaveRule{{MaxUnavailable: Amount{Number: 9}}, {MaxUnavailable: Amount{Number: 2}}}
			return Strategy{Rate: c.rate, Waves: waves}
		}}
		var waiting []ID
		add := func(kind string, n int, target Target) {
			for i := range n {
				id := ID(fmt.Sprint(kind, i))
				target.Lane = "main"
				w.Targets[id], waiting = target, append(waiting, id)
			}
		}
		add("old", c.old, Target{})
		add("pnew", c.fresh, Target{New: true})
		add("zfree", c.broken, Target{Health: Broken})
		for i := range c.catching {
			id := ID(fmt.Sprint("catching", i))
			w.Targets[id] = Target{Lane: "main"}
			s.Fold(Event{Kind: CatchesUp, At: 1000, Lane: "main", Targets: []ID{id}})
		}
		turn := newTurn(s, w, 1000)
		turn.admit("main", waiting)
		var got []string
		for _, kind := range []string{"old", "new", "free"} {
			for _, e := range turn.log {
				if is := map[bool]string{true: "new", false: "old"}[e.New]; is == kind && !e.Lost || kind == "free" && e.Lost {
					got = append(got, fmt.Sprint(len(e.Targets), " ", kind))
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// TestRepairs: no limit keeps stable content from a target that failed, or that has content of an incomplete rollout.
func TestRepairs(t *testing.T) {
	wants := []Change{{Part: "web", Digest: "w1"}}
	for name, c := range map[string]struct {
		target Target
		phase  Phase
		lane   string
		want   bool
	}{
		"it failed":             {Target{Health: Broken}, Completed, "main", true},
		"of a complete rollout": {Target{Wants: wants}, Completed, "main", false},
		"with exceptions":       {Target{Wants: wants}, WithExceptions, "main", false},
		"of an aborted one":     {Target{Wants: wants}, Aborted, "main", true},
		"of an active one":      {Target{Wants: wants}, Active, "main", true},
		"of another lane":       {Target{Wants: wants}, Aborted, "next", false},
		"without a change":      {Target{}, Aborted, "main", false},
		"content is not stable": {Target{Wants: []Change{{Part: "web", Digest: "w3"}}}, Aborted, "main", false},
		"it lacks another part": {Target{Wants: []Change{{Part: "db", Digest: "d1"}}}, Aborted, "main", false},
	} {
		s := NewState()
		s.stable["main"] = map[string]string{"web": "w1", "db": "d1"}
		s.Rollouts["r1"] = &Rollout{Phase: c.phase, Plan: Plan{Lane: c.lane,
			Changes: []Change{{Part: "web", Digest: "w2"}, {Part: "db"}}}}
		c.target.Lane = "main"
		has := func(_ ID, part string) string { return map[string]string{"web": "w2"}[part] }
		turn := newTurn(s, World{Targets: map[ID]Target{"a": c.target}, Has: has}, 1)
		if turn.repairs(c.target, "a", s.incomplete("main")) != c.want {
			t.Errorf("%s: it is limited: %t", name, c.want)
		}
	}
}

// TestPlacesOfAStrategy: the last wave of a strategy limits the targets of the lane that catch up at the same time.
func TestPlacesOfAStrategy(t *testing.T) {
	w := World{Targets: map[ID]Target{"x": {Lane: "next"}}}
	for i := range 8 {
		w.Targets[ID(fmt.Sprint("a", i))] = Target{Lane: "main"}
	}
	three := WaveRule{MaxUnavailable: Amount{Number: 3}}
	for want, s := range map[int]Strategy{8: {}, 2: Careful(), 1: {Waves: []WaveRule{three, {}}},
		3: {Waves: []WaveRule{{}, three}}} {
		if got := newTurn(NewState(), w, 1).atOnce("main", s); got != want {
			t.Errorf("%d at the same time, want %d", got, want)
		}
	}
}

// TestBehindTargets: targets without contact are behind if they lack stable content. The others wait for it.
func TestBehindTargets(t *testing.T) {
	wants := []Change{{Part: "web", Digest: "w1"}}
	for name, c := range map[string]struct {
		target   Target
		catching bool
		away     bool
		waiting  bool
	}{
		"no contact":            {Target{Wants: wants}, false, true, false},
		"with contact":          {Target{Wants: wants, Online: true}, false, false, true},
		"with a hold":           {Target{Wants: wants, Online: true, Hold: "a freeze"}, false, false, false},
		"up to date":            {Target{}, false, false, false},
		"with newer content":    {Target{Wants: []Change{{Part: "web", Digest: "w2"}}}, false, false, false},
		"it catches up":         {Target{Wants: wants, Online: true}, true, false, true},
		"it catches up, behind": {Target{Wants: wants}, true, false, true},
	} {
		s := NewState()
		if s.stable["main"] = map[string]string{"web": "w1"}; c.catching {
			s.catching["a"] = CatchUp{Lane: "main"}
		}
		c.target.Lane = "main"
		away, waiting := s.Behind(World{Targets: map[ID]Target{"a": c.target}})
		if slices.Equal(away, []ID{"a"}) != c.away || waiting != c.waiting {
			t.Errorf("%s: %v are behind, others wait: %t", name, away, waiting)
		}
	}
}
