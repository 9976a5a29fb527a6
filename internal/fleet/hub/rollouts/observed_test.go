package rollouts

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
)

// TestObserved: a target has its health since the hub saw it, or since the clock of the hub jumped.
func TestObserved(t *testing.T) {
	var o Observed
	for _, c := range []struct {
		health    rollout.Health
		now, want int64
		restart   bool
	}{{rollout.Healthy, 5, 5, false}, {rollout.Healthy, 9, 5, false}, {rollout.Broken, 12, 12, false},
		{rollout.Healthy, 15, 15, false}, {rollout.Healthy, 20, 20, true}, {rollout.Healthy, 25, 20, false}} {
		if c.restart {
			o.Restart()
		}
		if got := o.since("t1", c.health, c.now); got != c.want {
			t.Errorf("%s at %d: since %d instead of %d", c.health, c.now, got, c.want)
		}
	}
}

// TestNeeded: a hub must decide while content differs, is held or has a strategy.
func TestNeeded(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	for id := range map[fleet.TargetID]bool{"t1": true, "t2": true, "t3": true} {
		s.strategies[id] = "at-once"
	}
	needed := func() bool {
		turn, err := s.hub.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End()
		return turn.Needed()
	}
	if s.turn(one); needed() {
		t.Error("without rollouts")
	}
	clear(s.strategies)
	if s.turn(two); !needed() {
		t.Error("during a rollout")
	}
}

// TestReadyModules: the modules on which strategies depend, each once.
func TestReadyModules(t *testing.T) {
	after := func(module string) query.StrategyAfter { return query.StrategyAfter{Module: module} }
	head := assign.Contents{Strategies: []query.Strategy{{Name: "none"},
		{Name: "a", Afters: []query.StrategyAfter{after("modules/db"), after("modules/dns")}},
		{Name: "b", Afters: []query.StrategyAfter{after("modules/db")}}}}
	if got := ReadyModules(head); !slices.Equal(got, []string{"modules/db", "modules/dns"}) {
		t.Errorf("%q", got)
	}
}

// TestAuthor: the plan of a rollout has the author of the commit, and the user of the hub with this name.
func TestAuthor(t *testing.T) {
	for _, c := range []struct {
		user func([]string) string
		want string
	}{
		{nil, ""},
		{func(names []string) string {
			if slices.Contains(names, "ann@example.org") {
				return "ann"
			}
			return ""
		}, "ann"},
	} {
		s := newSite(t, hubOf(t, bustest.NewStore()))
		s.head.Head.Author, s.head.User = "Ann <ann@example.org>", c.user
		s.turn(one)
		if got := s.hub.state.Rollouts["r1"].Plan; got.Git != "Ann <ann@example.org>" || got.Author != c.want {
			t.Errorf("%q, %q", got.Git, got.Author)
		}
	}
}

// TestForeign: a target that shows content of its own has foreign content in the parts that it shows as assigned.
func TestForeign(t *testing.T) {
	was := assignment("top=t1@c1 modules/db=d1@c1 modules/web=w1@c1")
	shown := []records.Content{{Part: "modules/db", Digest: "d1"}, {Part: "modules/web", Digest: "w0"},
		{Part: "modules/x", Digest: "x"}, {Part: "top", Digest: "t1"}}
	withdrawn := assignment("top=t1@c1")
	withdrawn.Withdrawn = "revoked"
	for name, c := range map[string]struct {
		was   *fleet.Assignment
		shown []records.Content
		want  []string
	}{
		"equal parts": {was, shown, []string{"modules/db", "top"}}, "nothing shown": {was, nil, nil},
		"no assignment": {nil, shown, nil}, "withdrawn": {withdrawn, shown, nil},
		"another root": {assignment("top=t2@c1 modules/db=d1@c1"), shown, []string{"modules/db"}},
	} {
		var d differences
		for range 2 { // the second result is a kept one
			if got := d.foreign(c.was, c.shown); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		f := Fleet{Branch: "main", Observed: &Observed{}, Foreign: func(fleet.TargetID) []records.Content { return c.shown }}
		desired := assign.Desired{Was: c.was, Want: was, Strategy: "careful"}
		if got := f.target(desired, rollout.NewState()).Foreign; !slices.Equal(got, c.want) {
			t.Errorf("%s: the target has the foreign content %q", name, got)
		}
	}
}

// TestTurnThatWaits: a hub decides again soon while a rollout is open, or begins as soon as a target can be changed.
func TestTurnThatWaits(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	waits := func(words string) bool {
		turn, err := s.hub.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End()
		turn.Plan(s.head, s.desired(words))
		return turn.Open()
	}
	s.until(one, one)
	if s.turn(one); waits(one) {
		t.Error("after the rollout")
	}
	for id, seen := range s.head.Targets {
		seen.Connected = false
		s.head.Targets[id] = seen
	}
	if !waits(two) || phases(s.hub) != "r1 completed" {
		t.Errorf("no target has contact: %s", phases(s.hub))
	}
}

// TestTurnThatWaitsForAModule: a hub decides again soon while a target waits for the module of another one.
func TestTurnThatWaitsForAModule(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.head.Head.Strategies[0].Afters = []query.StrategyAfter{{Modules: []string{"modules/new"}, Module: "modules/web",
		Targets: []string{"t1", "t2", "t3"}, Ready: "100%"}}
	s.head.Ready = map[string]map[fleet.TargetID]bool{"modules/web": {}}
	all := one + " modules/new=n1@c1"
	s.until(all, one)
	for range 5 {
		s.turn(all)
	}
	turn, err := s.hub.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	if turn.Plan(s.head, s.desired(all)); !turn.Open() || len(turn.log.state.Open()) > 0 {
		t.Errorf("it is open: %t, with %d rollouts", turn.Open(), len(turn.log.state.Open()))
	}
}
