package rollouts

import (
	"reflect"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
)

// TestHealth: only a report about the newest assignment counts.
func TestHealth(t *testing.T) {
	was := &fleet.Assignment{Epoch: 2, Generation: 7}
	newest := document.Order{Epoch: 2, Generation: 7}
	for state, want := range map[document.State]rollout.Health{
		document.Ready: rollout.Healthy, document.Failed: rollout.Broken,
		document.Blocked: rollout.Blocked, document.Deferred: rollout.Blocked, document.Frozen: rollout.Blocked,
		document.Applying: rollout.Applying, document.Pending: rollout.Applying, document.Drifted: rollout.Applying,
		document.Unresponsive: rollout.Unknown, "": rollout.Unknown,
	} {
		if got := health(was, document.Target{State: state, Accepted: newest}); got != want {
			t.Errorf("%s: %q", state, got)
		}
		for _, other := range []document.Order{{}, {Epoch: 1, Generation: 7}, {Epoch: 2, Generation: 6}} {
			if got := health(was, document.Target{State: state, Accepted: other}); got != rollout.Unknown {
				t.Errorf("%s of %+v: %q", state, other, got)
			}
		}
		if got := health(nil, document.Target{State: state}); got != rollout.Unknown {
			t.Errorf("%s without an assignment: %q", state, got)
		}
	}
}

// TestTarget describes a target for decisions. Its health began when the hub saw it for the first time.
func TestTarget(t *testing.T) {
	id := fleet.TargetID("t1")
	was := assignment("top=t1@c1 web=w1@c1")
	d := assign.Desired{Target: fleet.Target{ID: id}, Was: was, Want: assignment("top=t1@c2 web=w2@c2"),
		Strategy: "careful", Kept: "a freeze"}
	f := Fleet{Now: 50, Branch: "main", Observed: &Observed{}, Targets: map[fleet.TargetID]document.Target{
		id: {Connected: true, Contact: 40e9, State: document.Ready, Accepted: document.Order{Generation: 1}}}}
	want := rollout.Target{Lane: "main careful", Chosen: "main careful", Wants: wants(was, *d.Want),
		Health: rollout.Healthy, Since: 50, Online: true, Contact: 40, Hold: "a freeze"}
	for _, f.Now = range []int64{50, 60} {
		if got := f.target(d, rollout.NewState()); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	was.Generation = 2
	if got := f.target(d, rollout.NewState()); got.Health != rollout.Unknown || got.Since != 60 {
		t.Errorf("after another assignment: %+v", got)
	}
	was.Withdrawn = "suspended"
	if got := f.target(d, rollout.NewState()); !got.New {
		t.Errorf("after a suspension: %+v", got)
	}
	d.Was = nil
	if got := f.target(d, rollout.NewState()); !got.New || len(got.Wants) != 2 {
		t.Errorf("without an assignment: %+v", got)
	}
	d.Want = nil
	if got := f.target(d, rollout.NewState()); got.Lane != "" || got.Wants != nil {
		t.Errorf("without a desired assignment: %+v", got)
	}
}

// TestResync: a new leader waits until 95 of 100 known targets are connected, for at most 90 seconds. It does not wait
// for targets that were away before.
func TestResync(t *testing.T) {
	for _, c := range []struct {
		online, offline, away, never int
		back                         int // of the online targets that were away before
		age                          int64
		want                         bool
	}{
		{online: 949, offline: 51, want: true}, {online: 950, offline: 50}, {online: 94, offline: 6, age: 89, want: true},
		{online: 94, offline: 6, age: 90}, {online: 1, never: 9}, {never: 9}, {offline: 1, want: true},
		{online: 2, away: 1}, {online: 95, back: 95, offline: 5},
		{online: 2, offline: 1, want: true}, {online: 2, away: 2, offline: 1, want: true}, {away: 3},
	} {
		f := Fleet{Now: 1000 + c.age, Up: 1000, Observed: &Observed{}, Targets: map[fleet.TargetID]document.Target{}}
		var all []assign.Desired
		s := rollout.NewState()
		for i := range c.online + c.offline + c.away + c.never {
			id := fleet.TargetID(rune('a' + i))
			all = append(all, assign.Desired{Target: fleet.Target{ID: id}})
			if i < c.online+c.offline+c.away {
				f.Targets[id] = document.Target{Connected: i < c.online, Contact: 1}
			}
			if i < c.back || i >= c.online+c.offline && i < c.online+c.offline+c.away {
				s.Fold(rollout.Event{Kind: rollout.Away, Target: id})
			}
		}
		w := f.world(all, s)
		if w.Resync != c.want || w.usable || w.Up != 1000 || len(w.Targets) != len(all) {
			t.Errorf("%+v: %v", c, w.Resync)
		}
	}
}

// TestUsableHead: the head of the branch is usable if any target can have it.
func TestUsableHead(t *testing.T) {
	want := assignment(one)
	for name, c := range map[string]struct {
		all  []assign.Desired
		want bool
	}{"no target": {nil, false}, "the first": {[]assign.Desired{{Want: want}, {}}, true},
		"the last": {[]assign.Desired{{}, {Want: want}}, true}, "errors": {[]assign.Desired{{}, {}}, false}} {
		if got := (Fleet{Observed: &Observed{}}).world(c.all, rollout.NewState()).usable; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWavesByName: a wave selects targets by their names.
func TestWavesByName(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.head.Head.Strategies[0].Waves[0] = query.StrategyWave{Name: "first", Selected: []string{"t2", "gone"},
		MaxUnavailable: "1"}
	s.turn(one)
	if s.was["t2"] == nil || len(s.was) != 1 {
		t.Errorf("%q", s.contents())
	}
}

// TestStrategy: an unknown strategy is the careful one.
func TestStrategy(t *testing.T) {
	f := Fleet{Head: assign.Contents{Strategies: []query.Strategy{{Name: "other"}, {Name: "web", OnBreach: "abort"}}}}
	if got := f.strategy("main web", nil); got.Name != "web" || got.OnBreach != rollout.Abort {
		t.Errorf("%+v", got)
	}
	if got := f.strategy("main gone", nil); !reflect.DeepEqual(got, rollout.Careful()) {
		t.Errorf("an unknown strategy: %+v", got)
	}
}

func TestCause(t *testing.T) {
	for want, r := range map[string]fleet.Revision{
		"commit 0123456789ab: a change": {Commit: "0123456789abcdef", Subject: "a change"},
		"commit 0123":                   {Commit: "0123"},
	} {
		if got := (Fleet{Head: assign.Contents{Revision: r}}).cause(nil, nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCauseOfARollback: the content of another commit than the head is the cause.
func TestCauseOfARollback(t *testing.T) {
	want := assignment("top=t2@c2 modules/web=w1@c1")
	all := []assign.Desired{{Want: want}}
	f := Fleet{Observed: &Observed{}, Head: assign.Contents{Revision: fleet.Revision{Commit: "c2"}, Root: want.Root.Bundle,
		Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "w2"}}}}
	for part, cause := range map[string]string{"modules/web": "rollback to commit c1", "top": "commit c2"} {
		p, _ := find(want, part)
		if got := f.cause(all, []rollout.Change{{Part: part, Digest: digest(p)}}); got != cause {
			t.Errorf("%s: %q", part, got)
		}
	}
}

// TestCauseWithDifferentContent: the content of the change counts, also if other targets have other content.
func TestCauseWithDifferentContent(t *testing.T) {
	first, second := assignment("top=t2@c2 modules/web=w2@c2"), assignment("top=t2@c2 modules/web=w1@c1")
	f := Fleet{Observed: &Observed{}, Head: assign.Contents{Revision: fleet.Revision{Commit: "c2"},
		Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "w2"}}}}
	all := []assign.Desired{{Want: first}, {Want: nil}, {Want: second}}
	for want, a := range map[string]*fleet.Assignment{"commit c2": first, "rollback to commit c1": second} {
		if got := f.cause(all, []rollout.Change{{Part: "modules/web", Digest: has(a, "modules/web")}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := f.cause(all, []rollout.Change{{Part: "modules/web"}}); got != "commit c2" {
		t.Errorf("a removal: %q", got)
	}
}

// TestOrdersOf: only labels that an operator gives a target order a module. Labels of the repository change together
// with the root bundle.
func TestOrdersOf(t *testing.T) {
	labels := map[string]string{"role": "web"}
	for name, c := range map[string]struct {
		root     string
		labels   map[string]string
		withheld []string
		missing  []string
		want     []string
	}{
		"labels":        {"t1", labels, nil, []string{"web", "db"}, []string{"web", "db"}},
		"equal labels":  {"t1", nil, nil, []string{"web"}, nil},
		"another root":  {"t2", labels, nil, []string{"web"}, nil},
		"nothing lacks": {"t1", labels, nil, nil, nil},
		"withheld":      {"t1", labels, []string{"web"}, []string{"web", "db"}, []string{"db"}},
	} {
		was, want := assignment("top=t1@c1"), assignment("top="+c.root+"@c2")
		was.Withheld, want.Labels = c.withheld, c.labels
		if got := ordersOf(was, *want, c.missing); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
