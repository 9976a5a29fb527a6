package rollout

import (
	"slices"
	"testing"
)

// TestContentThatContinues: content of an aborted rollout is not held while another open rollout of the lane delivers
// it.
func TestContentThatContinues(t *testing.T) {
	c := Change{Part: "web", Digest: "w2"}
	create := func(id, lane string) Event {
		return Event{Rollout: id, Kind: Created, Created: &Plan{Lane: lane, Changes: []Change{c}}}
	}
	for name, other := range map[string]struct {
		log  []Event
		held string
	}{
		"no other":       {nil, "r1"},
		"it continues":   {[]Event{create("r2", "main")}, ""},
		"it returns":     {[]Event{create("r2", "main"), {Rollout: "r2", Kind: Breached, Reaction: Rollback}}, "r1"},
		"it has ended":   {[]Event{create("r2", "main"), {Rollout: "r2", Kind: Ended, Phase: Superseded}}, "r1"},
		"another lane":   {[]Event{create("r2", "next")}, "r1"},
		"another change": {[]Event{{Rollout: "r2", Kind: Created, Created: &Plan{Lane: "main"}}}, "r1"},
	} {
		s := NewState()
		for _, e := range slices.Concat([]Event{create("r1", "main")}, other.log,
			[]Event{{Rollout: "r1", Kind: Ended, Phase: Aborted}}) {
			s.Fold(e)
		}
		if got := s.HeldBy("main", c); got != other.held {
			t.Errorf("%s: the content is held by %q, want %q", name, got, other.held)
		}
	}
}

// TestPassedRoot: a root part may select a lane if it is stable in the branch, or if no rollout of the branch had it.
func TestPassedRoot(t *testing.T) {
	root := Change{Part: RootPart, Digest: "t2"}
	had := func(lane string, c Change, end Phase) []Event {
		return []Event{{Rollout: "r1", Kind: Created, Created: &Plan{Lane: lane, Changes: []Change{c}}},
			{Rollout: "r1", Kind: Ended, Phase: end}}
	}
	for name, c := range map[string]struct {
		log  []Event
		want bool
	}{
		"no rollout":                     {nil, true},
		"complete":                       {had("main careful", root, Completed), true},
		"complete with another strategy": {had("main other", root, Completed), true},
		"superseded":                     {had("main careful", root, Superseded), false},
		"superseded elsewhere":           {had("next careful", root, Superseded), true},
		"superseded, other content":      {had("main careful", Change{Part: RootPart, Digest: "t3"}, Superseded), true},
		"held":                           {had("main careful", root, Aborted), false},
		"complete elsewhere and superseded here": {append(had("main careful", root, Superseded),
			Event{Rollout: "r2", Kind: Created, Created: &Plan{Lane: "next careful", Changes: []Change{root}}},
			Event{Rollout: "r2", Kind: Ended, Phase: Completed}), false},
	} {
		s := NewState()
		for _, e := range c.log {
			s.Fold(e)
		}
		if got := s.passed("main careful", "t2"); got != c.want {
			t.Errorf("%s: it may select a lane: %t", name, got)
		}
	}
}

// TestRecentBegins: the targets of a lane that began to catch up within a minute count, except for those without a
// place.
func TestRecentBegins(t *testing.T) {
	s := NewState()
	for _, e := range []Event{
		{At: 1000, Lane: "main", Targets: []ID{"a"}},
		{At: 1001, Lane: "main", Targets: []ID{"b", "c"}},
		{At: 1002, Lane: "next", Targets: []ID{"d"}},
		{At: 1003, Lane: "main", Targets: []ID{"e"}, Lost: true},
	} {
		e.Kind = CatchesUp
		s.Fold(e)
	}
	for now, want := range map[int64]int{1003: 3, 1059: 3, 1060: 2, 1061: 0} {
		if got := s.recent("main", now); got != want {
			t.Errorf("%d targets began within the minute before %d, want %d", got, now, want)
		}
	}
	if s.recent("next", 1061) != 1 || s.recent("other", 1003) != 0 {
		t.Error("the begins of other lanes are wrong")
	}
	for at, left := range map[int64]int{1059: 4, 1060: 3, 1062: 1} {
		later := NewState()
		later.begins = slices.Clone(s.begins)
		later.Fold(Event{Kind: CatchesUp, At: at, Lane: "main", Targets: []ID{"f"}})
		if len(later.begins) != left {
			t.Errorf("%d: %v", at, later.begins)
		}
	}
}

// TestPlacesOfALane: the targets that catch up in a lane with a place count, new ones apart.
func TestPlacesOfALane(t *testing.T) {
	s := NewState()
	s.catching = map[ID]CatchUp{"a": {Lane: "main"}, "b": {Lane: "main", New: true}, "c": {Lane: "main", Free: true},
		"d": {Lane: "next"}, "e": {Lane: "main", New: true}, "f": {Lane: "next", Free: true}}
	if old, fresh := s.places("main", false), s.places("main", true); old != 1 || fresh != 2 {
		t.Errorf("%d targets and %d new ones have a place", old, fresh)
	}
}

// TestStrays: a member strays if it has content that no event of the log gave it. After a rollback that the log does
// not know, a member that was ready has its earlier content.
func TestStrays(t *testing.T) {
	member := func(s MemberState) Member {
		return Member{State: s, Granted: 1, Before: []Change{{Part: "web", Digest: "w1"}}}
	}
	for name, c := range map[string]struct {
		phase   Phase
		member  Member
		foreign []string
		has     string
		want    bool
	}{
		"other content":          {Active, member(MemberGranted), []string{"web"}, "w3", true},
		"other, in a rollback":   {RollingBack, member(MemberReady), []string{"web"}, "w3", true},
		"known content":          {Active, member(MemberGranted), nil, "w3", false},
		"of another part":        {Active, member(MemberGranted), []string{"db"}, "w3", false},
		"the change":             {Active, member(MemberReady), []string{"web"}, "w2", false},
		"the earlier content":    {Active, member(MemberGranted), []string{"web"}, "w1", false},
		"earlier, after ready":   {Active, member(MemberReady), []string{"web"}, "w1", true},
		"earlier, in a pause":    {OnHold, member(MemberReady), []string{"web"}, "w1", true},
		"earlier, in a rollback": {RollingBack, member(MemberReady), []string{"web"}, "w1", false},
		"earlier, after failed":  {Active, member(MemberFailed), []string{"web"}, "w1", false},
		"without a grant":        {Active, Member{State: MemberPending}, []string{"web"}, "w3", false},
	} {
		r := &Rollout{Phase: c.phase, Plan: Plan{Changes: []Change{{Part: "web", Digest: "w2"}}}}
		w := World{Targets: map[ID]Target{"a": {Foreign: c.foreign}}, Has: func(ID, string) string { return c.has }}
		if strays(w, r, "a", &c.member) != c.want {
			t.Errorf("%s: it strays: %t", name, !c.want)
		}
	}
}

// TestDelivers: only an open rollout of the lane that has the first change, and not the second one, delivers it before.
func TestDelivers(t *testing.T) {
	db, web := Change{Part: "db", Digest: "d2"}, Change{Part: "web", Digest: "w2"}
	for name, c := range map[string]struct {
		plan Plan
		want string
	}{
		"only the first": {Plan{Lane: "main", Changes: []Change{db}}, "r1"},
		"both":           {Plan{Lane: "main", Changes: []Change{db, web}}, ""},
		"none":           {Plan{Lane: "main"}, ""},
		"another lane":   {Plan{Lane: "next", Changes: []Change{db}}, ""},
	} {
		s := NewState()
		s.Fold(Event{Rollout: "r1", Kind: Created, Created: &c.plan})
		if got := delivers(s, "main", db, web); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestDelivered: a part is delivered in a lane if it is stable there, or if a rollout has it. A snapshot may have no
// rollout for stable content.
func TestDelivered(t *testing.T) {
	s := Snapshot{Stable: map[string]map[string]string{"main": {"web": "w1"}}}.State()
	db := Change{Part: "db", Digest: "d1"}
	s.Fold(Event{Rollout: "r1", Kind: Created, Created: &Plan{Lane: "main", Changes: []Change{db}}})
	for at, want := range map[[2]string]bool{{"main", "web"}: true, {"main", "db"}: true, {"main", "top"}: false,
		{"next", "web"}: false, {"next", "db"}: false} {
		if s.delivered(at[0], at[1]) != want {
			t.Errorf("%v is delivered: %t", at, !want)
		}
	}
}

// TestHeldContent: the content of a rollout is held after an abort, except for content that an operator released, or
// that is stable by now.
func TestHeldContent(t *testing.T) {
	c := Change{Part: "web", Digest: "w2"}
	back := Event{Kind: Breached, Reaction: Rollback}
	abort := []Event{{Kind: Breached, Reaction: Abort}, {Kind: Ended, Phase: Aborted}}
	second := []Event{{Rollout: "r2", Kind: Created, Created: &Plan{Lane: "main", Changes: []Change{c}}},
		{Rollout: "r2", Kind: Ended, Phase: Completed}}
	for name, log := range map[string]struct {
		events []Event
		held   string
	}{
		"aborted":                {abort, "r1"},
		"in a rollback":          {[]Event{back}, "r1"},
		"paused":                 {[]Event{{Kind: Breached, Reaction: Pause}}, ""},
		"released":               {append(slices.Clone(abort), Event{Kind: Released}), ""},
		"released in a rollback": {append([]Event{back, {Kind: Released}}, abort...), ""},
		"stable by now":          {append(slices.Clone(second), abort...), ""},
		"complete afterwards":    {append(slices.Clone(abort), second...), ""},
	} {
		s := NewState()
		s.Fold(Event{Rollout: "r1", Kind: Created, Created: &Plan{Lane: "main", Changes: []Change{c}}})
		for _, e := range log.events {
			if e.Rollout == "" {
				e.Rollout = "r1"
			}
			s.Fold(e)
		}
		if got := s.HeldBy("main", c); got != log.held || s.HeldBy("next", c) != "" {
			t.Errorf("%s: the content is held by %q, want %q", name, got, log.held)
		}
	}
}

// TestOneMovementAtATime: a target gets no grant while another rollout changes it, or returns it.
func TestOneMovementAtATime(t *testing.T) {
	for name, c := range map[string]struct {
		member *Member
		phase  Phase
		want   bool
	}{
		"not a member":         {nil, RollingBack, true},
		"it waits":             {&Member{State: MemberPending}, Active, true},
		"it is changed":        {&Member{State: MemberGranted, Granted: 1}, Active, false},
		"it is changed, later": {&Member{State: MemberGranted, Granted: 1}, OnHold, false},
		"it is ready":          {&Member{State: MemberReady, Granted: 1}, Active, true},
		"it returns":           {&Member{State: MemberReady, Granted: 1}, RollingBack, false},
		"it has returned":      {&Member{State: MemberReturned, Granted: 1}, RollingBack, true},
		"without the change":   {&Member{State: MemberPending}, RollingBack, true},
	} {
		s := NewState()
		r := &Rollout{Members: map[ID]*Member{"a": {State: MemberGranted}}}
		other := &Rollout{Phase: c.phase, Members: map[ID]*Member{}}
		if s.open = []*Rollout{r, other}; c.member != nil {
			other.Members["a"] = c.member
		}
		if newTurn(s, World{Targets: map[ID]Target{"a": {Online: true}}}, 1).grantable(r, "a") != c.want {
			t.Errorf("%s: it can be granted the change: %t", name, !c.want)
		}
	}
}

// TestContentBeforeAGrant: the member returns to the content of the parts of the rollout, or to none if it is new.
func TestContentBeforeAGrant(t *testing.T) {
	wants := []Change{{Part: "web", Digest: "w2"}, {Part: "db", Digest: "d2"}, {Part: "top", Digest: "t2"}}
	w := World{Targets: map[ID]Target{"a": {Wants: wants}, "new": {Wants: wants, New: true}},
		Has: func(_ ID, part string) string { return "old " + part }}
	r := &Rollout{Plan: Plan{Changes: []Change{wants[0], wants[1], {Part: "top", Digest: "t3"}}}}
	turn := newTurn(NewState(), w, 1)
	want := []Change{{Part: "db", Digest: "old db"}, {Part: "web", Digest: "old web"}}
	if got := turn.before(r, "a"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := turn.before(r, "new"); got != nil {
		t.Errorf("a new target had %v", got)
	}
}
