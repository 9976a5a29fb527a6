package rollouts

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
)

// webAfterDB is the dependence of modules/web on modules/db of all three targets.
func webAfterDB(ready string) query.StrategyAfter {
	return query.StrategyAfter{Module: "modules/db", Modules: []string{"modules/web"}, Ready: ready,
		Targets: []string{"t1", "t2", "t3"}}
}

// depends lets the module web wait for the module db on all targets of a site.
func (s *site) depends(ready string) {
	short := shortStrategy
	short.Afters = []query.StrategyAfter{webAfterDB(ready)}
	s.head.Head.Strategies = []query.Strategy{short}
}

// observe lets the site report the module db as ready on the targets that have it and are ready.
func (s *site) observe() {
	ready := map[fleet.TargetID]bool{}
	for id, a := range s.was {
		_, ok := find(a, "modules/db")
		ready[id] = ok && s.head.Targets[id].State == document.Ready
	}
	s.head.Ready = map[string]map[fleet.TargetID]bool{"modules/db": ready}
}

// TestTurnsAfter: a change of the module web reaches no target before the newest module db is ready on all. The first
// installation waits, too.
func TestTurnsAfter(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.depends("100%")
	const first = "top=t1@c1 modules/db=d1@c1 modules/web=w1@c1"
	const second = "top=t1@c1 modules/db=d2@c2 modules/web=w2@c2"
	for range 20 {
		s.observe()
		s.turn(first)
	}
	if got := s.contents(); !slices.Equal(got, []string{first}) {
		t.Fatalf("the first installation: %q, because of %v", got, s.why)
	}
	for range 20 {
		s.observe()
		if s.turn(second); slices.Contains(s.contents(), second) && slices.Contains(s.contents(), first) {
			t.Fatalf("a target has the new web, and another one the old db: %q, %v", s.contents(), s.why)
		}
	}
	if got := s.contents(); !slices.Equal(got, []string{second}) {
		t.Fatalf("the targets have %q, because of %v", got, s.why)
	}
	if got := phases(s.hub); got != "r4 completed, r3 completed, r2 completed, r1 completed" {
		t.Error(got)
	}
	seen := s.head.Targets["t2"]
	seen.Connected = false
	s.head.Targets["t2"] = seen
	const newer = "top=t1@c1 modules/db=d2@c2 modules/web=w3@c3"
	for range 4 {
		s.observe()
		s.turn(newer)
	}
	if got := s.contents(); !slices.Equal(got, []string{second}) || !strings.Contains(s.why["t1"],
		"ready on 2 of 3 targets, and must be on 3; for example t2 is not ready") {
		t.Errorf("%q, %v", got, s.why)
	}
	s.depends("60%")
	s.observe()
	if s.turn(newer); !slices.Contains(s.contents(), newer) {
		t.Errorf("no target gets the change: %v", s.why)
	}
}

// TestDependence: only a target that has the newest content and reports it as ready counts.
func TestDependence(t *testing.T) {
	two := webAfterDB("2")
	two.Targets = []string{"t1", "t2"}
	desired := func(id, was, want string) assign.Desired {
		a, b := assignment(was), assignment(want)
		a.Generation = 1
		return assign.Desired{Target: fleet.Target{ID: fleet.TargetID(id), Name: id}, Was: a, Want: b, Strategy: "s"}
	}
	ready := document.Target{Connected: true, State: document.Ready, Accepted: document.Order{Generation: 1}}
	const db, web = "top=t1@c1 modules/db=d1@c1", "top=t1@c1 modules/db=d1@c1 modules/web=w1@c1"
	for name, c := range map[string]struct {
		change func(f *Fleet, all []assign.Desired)
		want   string // part of the reason, or ""
		lane   string // "" means that the strategy of the target is in force
	}{
		"ready": {func(*Fleet, []assign.Desired) {}, "", ""},
		"not ready": {func(f *Fleet, _ []assign.Desired) { f.Ready["modules/db"]["t2"] = false },
			"1 of 2 targets, and must be on 2; for example t2", ""},
		"no contact": {func(f *Fleet, _ []assign.Desired) { f.Targets["t1"] = document.Target{} }, "for example t1", ""},
		"an older report": {func(f *Fleet, _ []assign.Desired) {
			f.Targets["t2"] = document.Target{Connected: true, State: document.Ready}
		}, "for example t2", ""},
		"newer": {func(_ *Fleet, all []assign.Desired) { all[0].Want = assignment("modules/db=d2@c2") },
			"for example t1", ""},
		"one target": {func(_ *Fleet, all []assign.Desired) { all[0].Target.Name = "x" },
			"on 1 of 1 targets, and must be on 2", ""},
		"one target with the module": {func(_ *Fleet, all []assign.Desired) { all[0].Want = assignment("top=t1@c1") },
			"on 1 of 1 targets, and must be on 2", ""},
		"no target": {func(f *Fleet, _ []assign.Desired) { f.Head.Strategies[0].Afters[0].Targets = nil }, "no target", ""},
		"error":     {func(_ *Fleet, all []assign.Desired) { all[0].Want = nil }, "", ""},
		"other order": {func(f *Fleet, all []assign.Desired) {
			f.Ready, all[2].Strategy = nil, "at-once"
		}, "", ""},
		"the strategy begins": {func(f *Fleet, _ []assign.Desired) { f.Ready = nil }, "must be on 2", "main at-once"},
		"the strategy ends": {func(f *Fleet, all []assign.Desired) {
			f.Ready, all[2].Strategy = nil, "at-once"
		}, "must be on 2", "main s"},
		"another module": {func(f *Fleet, all []assign.Desired) {
			f.Ready, all[2].Want = nil, assignment("top=t2@c2 modules/db=d1@c1")
		}, "", ""},
		"nothing desired": {func(f *Fleet, all []assign.Desired) { f.Ready, all[2].Want = nil, nil }, "", "main s"},
		"two reasons": {func(f *Fleet, _ []assign.Desired) {
			f.Ready = nil
			dns := two
			dns.Module = "modules/dns"
			f.Head.Strategies[0].Afters = append(f.Head.Strategies[0].Afters, dns)
		}, "it waits for modules/db", ""},
	} {
		all := []assign.Desired{desired("t1", db, db), desired("t2", db, db),
			desired("t3", "top=t1@c1 modules/web=w0@c0", web)}
		f := Fleet{Head: assign.Contents{Strategies: []query.Strategy{{Name: "s", Afters: []query.StrategyAfter{two}}}},
			Targets: map[fleet.TargetID]document.Target{"t1": ready, "t2": ready, "t3": ready},
			Ready:   map[string]map[fleet.TargetID]bool{"modules/db": {"t1": true, "t2": true}}}
		c.change(&f, all)
		target := rollout.Target{Lane: cmp.Or(c.lane, "main "+all[2].Strategy), Health: rollout.Healthy}
		waits, parts := f.dependences(all).waits(all[2], target)
		got := waits["modules/web"]
		if got != "" && !slices.Equal(parts["modules/web"], []string{"modules/db"}) {
			t.Errorf("%s: it waits for %q", name, parts)
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestDependenceOfNeeds: a module that needs a waiting module waits. A target that failed does not wait for itself.
func TestDependenceOfNeeds(t *testing.T) {
	want := assignment("top=t1@c1 modules/db=d1@c1 modules/web=w1@c1 modules/site=s1@c1")
	want.Modules[2].Needs = []fleet.Need{{Module: "modules/web"}}
	d := assign.Desired{Target: fleet.Target{ID: "t1", Name: "t1"}, Want: want, Strategy: "s",
		Was: assignment("top=t1@c1 modules/web=w0@c0 modules/site=s0@c0")}
	a := webAfterDB("100%")
	f := Fleet{Head: assign.Contents{Strategies: []query.Strategy{{Name: "s", Afters: []query.StrategyAfter{a}}}}}
	all := f.dependences([]assign.Desired{d})
	got, parts := all.waits(d, rollout.Target{Lane: "main s", Health: rollout.Healthy})
	if len(got) != 2 || !slices.Equal(parts["modules/site"], []string{"modules/db"}) ||
		!strings.HasPrefix(got["modules/site"], "it needs modules/web, for which it waits: it waits for modules/db") {
		t.Errorf("%v", got)
	}
	if got, _ := all.waits(d, rollout.Target{Lane: "main s", Health: rollout.Broken}); len(got) > 0 {
		t.Errorf("a target waits for itself: %v", got)
	}
	other := d
	other.Target.ID = "t9"
	if got, _ := all.waits(other, rollout.Target{Lane: "main s", Health: rollout.Broken}); len(got) != 2 {
		t.Errorf("a target without the module db does not wait, because it failed: %v", got)
	}
	d.Was = nil
	if got, _ := all.waits(d, rollout.Target{Lane: "main s", Health: rollout.Unknown}); len(got) != 2 {
		t.Errorf("the first installation does not wait: %v", got)
	}
}

// TestDependenceOfBoth: a module that waits, and needs a module that waits, has its own reason.
func TestDependenceOfBoth(t *testing.T) {
	want := assignment("top=t1@c1 modules/db=d1@c1 modules/web=w1@c1 modules/site=s1@c1")
	want.Modules[2].Needs = []fleet.Need{{Module: "modules/web"}}
	a := webAfterDB("100%")
	a.Modules = []string{"modules/web", "modules/site"}
	d := assign.Desired{Target: fleet.Target{ID: "t1", Name: "t1"}, Want: want, Strategy: "s"}
	f := Fleet{Head: assign.Contents{Strategies: []query.Strategy{{Name: "s", Afters: []query.StrategyAfter{a}}}}}
	got, _ := f.dependences([]assign.Desired{d}).waits(d, rollout.Target{Lane: "main s"})
	if len(got) != 2 || got["modules/site"] != got["modules/web"] {
		t.Errorf("%v", got)
	}
}

// TestLeastReady: percentages are rounded up, and at least one target must be ready. A number is not limited.
func TestLeastReady(t *testing.T) {
	for _, c := range []struct {
		count int
		ready string
		want  int
	}{{3, "100%", 3}, {200, "100%", 200}, {3, "60%", 2}, {3, "34%", 2}, {3, "33%", 1}, {300, "33%", 99}, {5, "0%", 1},
		{2, "5", 5}, {5, "2", 2}} {
		d := dependence{StrategyAfter: query.StrategyAfter{Ready: c.ready}, count: c.count}
		if got := d.least(); got != c.want {
			t.Errorf("%s of %d: %d instead of %d", c.ready, c.count, got, c.want)
		}
	}
}
