package rollouts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/rollout/declared"
	"fettle.dev/fettle/internal/lang/query"
)

// site is a fleet of 3 targets whose agents apply each assignment at once.
type site struct {
	t    *testing.T
	hub  *Log
	head Fleet
	was  map[fleet.TargetID]*fleet.Assignment
	why  map[fleet.TargetID]string
	bad  string // targets with this content fail
	// strategies are the strategies of targets that do not have the strategy "short".
	strategies map[fleet.TargetID]string
	alarms     []assign.Alarm
	more       map[fleet.TargetID]string // modules of single targets
	labels     map[fleet.TargetID]map[string]string
}

// shortStrategy has a first wave of 1 target, and no bake time.
var shortStrategy = query.Strategy{Name: "short", MaxFailed: "0", MaxSilent: "0", MinReady: "100%", MinCoverage: "50%",
	ProgressDeadline: 900, SilentAfter: 300, WaveTimeout: 3600, OnBreach: "rollback",
	Waves: []query.StrategyWave{{Name: "first", All: true, Size: "1", MaxUnavailable: "1"},
		{Name: "rest", All: true, MaxUnavailable: "100%"}}}

// shortDeclared is shortStrategy as rollouts use it.
func shortDeclared(t *testing.T) rollout.Strategy {
	s, ok := declared.Named([]query.Strategy{shortStrategy}, "short", nil)
	if !ok {
		t.Fatal("there is no strategy")
	}
	return s
}

func newSite(t *testing.T, hub *Log) *site {
	short := shortStrategy
	short.Waves = slices.Clone(short.Waves) // tests change them
	return &site{t: t, hub: hub, was: map[fleet.TargetID]*fleet.Assignment{}, why: map[fleet.TargetID]string{},
		strategies: map[fleet.TargetID]string{},
		head: Fleet{Now: 1000, Up: 1, Branch: "main", Observed: &Observed{}, Targets: map[fleet.TargetID]document.Target{},
			Head: assign.Contents{Strategies: []query.Strategy{short},
				Revision: fleet.Revision{Commit: "0123456789abcdef", Subject: "a change"}}}}
}

// desired returns the desired assignments, in the words of assignment.
func (s *site) desired(words string) (all []assign.Desired) {
	for i := range 3 {
		id := fleet.TargetID(fmt.Sprintf("t%d", i+1))
		want := assignment(words + " " + s.more[id])
		want.Target, want.Labels = id, s.labels[id]
		strategy := "short"
		if other, ok := s.strategies[id]; ok {
			strategy = other
		}
		all = append(all, assign.Desired{Target: fleet.Target{ID: id, Name: string(id)}, Was: s.was[id], Want: want,
			Strategy: strategy})
		if s.was[id] == nil {
			s.head.Targets[id] = document.Target{Connected: true, Contact: s.head.Now * 1e9}
		}
	}
	return all
}

// turn decides once, and issues the permitted assignments.
func (s *site) turn(words string) {
	s.t.Helper()
	turn, err := s.hub.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer turn.End()
	s.head.Now++
	all := s.desired(words)
	grant := turn.Plan(s.head, all)
	s.alarms = turn.Alarms()
	given := map[fleet.TargetID]fleet.Assignment{}
	for _, d := range all {
		given[d.Target.ID], s.why[d.Target.ID] = grant(d.Was, *d.Want)
	}
	if err := turn.Store(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for id, a := range given {
		s.issue(id, a)
	}
}

// issue gives a target an assignment, which its agent applies.
func (s *site) issue(id fleet.TargetID, a fleet.Assignment) {
	if a.Target == "" || s.was[id] != nil && text(*s.was[id]) == text(a) {
		return
	}
	if a.Generation = 1; s.was[id] != nil {
		a.Generation = s.was[id].Generation + 1
	}
	s.was[id] = &a
	seen := document.Target{Connected: true, Contact: s.head.Now * 1e9, State: document.Ready,
		Accepted: document.Order{Epoch: a.Epoch, Generation: a.Generation}}
	if s.bad != "" && strings.Contains(text(a), s.bad) {
		seen.State = document.Failed
	}
	s.head.Targets[id] = seen
}

// until decides until the targets have contents, in the words of text.
func (s *site) until(desired string, have ...string) {
	s.t.Helper()
	for range 20 {
		if slices.Equal(s.contents(), have) {
			return
		}
		s.turn(desired)
	}
	s.t.Fatalf("the targets have %q instead of %q, because of %v", s.contents(), have, s.why)
}

// alarm returns the only alarm of the last turn.
func (s *site) alarm() assign.Alarm {
	s.t.Helper()
	if len(s.alarms) != 1 {
		s.t.Fatalf("%+v", s.alarms)
	}
	return s.alarms[0]
}

// contents returns the different contents of the targets, sorted.
func (s *site) contents() []string {
	different := map[string]bool{}
	for _, id := range []fleet.TargetID{"t1", "t2", "t3"} {
		if a := s.was[id]; a != nil {
			different[text(*a)] = true
		} else {
			different["none"] = true
		}
	}
	return slices.Sorted(maps.Keys(different))
}

const (
	one   = "top=t1@c1 modules/web=w1@c1"
	two   = "top=t1@c2 modules/web=w2@c2"
	three = "top=t1@c3 modules/web=w3@c3"
)

// TestTurns: a change reaches one target, then the others. Nothing differs afterwards.
func TestTurns(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	if s.turn(one); len(s.was) != 1 {
		t.Errorf("%d targets are in the first wave", len(s.was))
	}
	s.until(one, one)
	s.turn(one)
	s.turn(two)
	if got := s.contents(); !slices.Equal(got, []string{one, two}) {
		t.Errorf("after the first turn: %q", got)
	}
	s.until(two, two)
	s.turn(two)
	if got := phases(s.hub); got != "r2 completed, r1 completed" {
		t.Error(got)
	}
	if got := s.why["t1"]; got != "the assignment is issued without delay" {
		t.Error(got)
	}
}

// TestTurnsGoBack: another hub has the previous content of a failed target from the log. Then the content is held.
func TestTurnsGoBack(t *testing.T) {
	store := bustest.NewStore()
	s := newSite(t, hubOf(t, store))
	s.until(one, one)
	s.turn(one)
	s.bad = "w2"
	s.until(two, one, two)
	s.hub = hubOf(t, store)
	s.until(two, one, "top=t1@c2 modules/web=w1@c1")
	s.turn(two)
	s.turn(two)
	a := s.alarm()
	if a.Kind != assign.RolloutHeld || a.Count != 3 || !slices.Equal(a.Targets, []fleet.TargetID{"t1", "t2", "t3"}) ||
		!strings.Contains(a.Text, "commit 0123456789ab: a change") {
		t.Errorf("%+v", a)
	}
	if !held(s.hub, a.Text) {
		t.Errorf("the list shows nothing as held, and the alarm is %s", a.Text)
	}
	s.until(three, three)
	if s.turn(three); len(s.alarms) > 0 || held(s.hub, a.Text) {
		t.Errorf("with another content: %+v", s.alarms)
	}
	for id := range s.was {
		s.strategies[id] = "at-once"
	}
	s.turn(two)
	if s.turn(two); s.alarm().Kind != assign.RolloutHeld || !slices.Equal(s.contents(), []string{three}) {
		t.Errorf("with another strategy: %+v, %q", s.alarms, s.contents())
	}
}

// TestTurnsChangeStrategy: content that selects another strategy is rolled out with the previous one, by any hub.
func TestTurnsChangeStrategy(t *testing.T) {
	store := bustest.NewStore()
	s := newSite(t, hubOf(t, store))
	s.until(one, one)
	s.turn(one)
	for id := range s.was {
		s.strategies[id] = "at-once"
	}
	s.head.Head.Strategies = nil // no block describes the strategy "short" any more
	const other, next = "top=t2@c2 modules/web=w1@c1", "top=t3@c3 modules/web=w3@c3"
	s.turn(other)
	if got := s.contents(); !slices.Equal(got, []string{one, other}) {
		t.Errorf("after the first turn: %q", got)
	}
	s.hub = hubOf(t, store)
	s.until(other, other)
	s.turn(other)
	if got := s.hub.state.Rollouts["r2"].Plan.Strategy; got.Name != "short" || len(got.Waves) != 2 {
		t.Errorf("%+v", got)
	}
	s.turn(next)
	if got := s.contents(); !slices.Equal(got, []string{next}) || phases(s.hub) != "r2 completed, r1 completed" {
		t.Errorf("the next commit: %q, %s", got, phases(s.hub))
	}
}

// held reports whether the list of rollouts shows the rollout of an alarm as held.
func held(l *Log, alarm string) (out bool) {
	l.each(func(r *rollout.Rollout, held bool) { out = out || held && strings.Contains(alarm, r.ID) })
	return out
}

// TestTurnsPause: a rollout that pauses by itself is an alarm, and one that an operator paused is none.
func TestTurnsPause(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.head.Head.Strategies[0].OnBreach = "pause"
	s.until(one, one)
	s.turn(one)
	s.bad = "w2"
	s.until(two, one, two)
	s.turn(two)
	if a := s.alarm(); a.Kind != assign.RolloutPaused || !strings.Contains(a.Text, "1 of 3 failed") {
		t.Errorf("%+v", a)
	}
	for _, a := range []rollout.Action{rollout.ToResume, rollout.ToPause} {
		if _, err := s.hub.Order(t.Context(), rollout.Command{Action: a, Rollout: "r2", By: "jane"}, s.head.Now); err != nil {
			t.Fatal(err)
		}
	}
	if s.turn(two); len(s.alarms) > 0 {
		t.Errorf("after a command: %+v", s.alarms)
	}
}

// TestTurnsWithoutStrategy: a target without a strategy gets its content at once.
func TestTurnsWithoutStrategy(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.strategies["t1"], s.strategies["t2"], s.strategies["t3"] = "", "at-once", "at-once"
	s.turn(one)
	s.turn(two)
	if got := s.contents(); !slices.Equal(got, []string{two}) || phases(s.hub) != "" {
		t.Errorf("%q, %s", got, phases(s.hub))
	}
}

// TestTurnThatIsNotStored: a decision has no effect before it is stored, and a hub that is too late stores nothing.
func TestTurnThatIsNotStored(t *testing.T) {
	store := bustest.NewStore()
	s, late := newSite(t, hubOf(t, store)), hubOf(t, store)
	turn, err := s.hub.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	turn.Plan(s.head, s.desired(one))
	if !turn.Open() || len(turn.Events()) != 4 {
		t.Errorf("%v", turn.Events())
	}
	turn.End()
	turn.End()
	if turn, err = s.hub.Begin(t.Context()); err != nil || turn.Open() {
		t.Fatalf("a rollout that was not stored is open, or %v", err)
	}
	turn.End()
	s.turn(one)
	if turn, err = late.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	turn.Plan(s.head, s.desired(one))
	if err := turn.Store(t.Context()); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("%v", err)
	}
}
