package rollouts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	trees "fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// compiles compiles an assignment like an agent. The root bundle names the modules web and new.
func compiles(t *testing.T, a fleet.Assignment) error {
	t.Helper()
	root := repo.MapTree(map[string]string{"fettle.hcl": "target_group \"all\" {\n  labels  = {}\n" +
		"  modules = [\"web\", \"new\"]\n}\n"})
	modules := map[string]repo.Tree{}
	for _, m := range a.Modules {
		modules[m.Module] = repo.MapTree(map[string]string{"module.hcl": "file \"/etc/x\" { content = \"x\" }\n"})
	}
	tree, err := trees.ComposeWith(root, modules, map[string]string{
		fleet.EnrolledFile: string(fleet.Enrolled(fleet.EnrolledTargets{"t1": {Waits: a.Withheld}}))})
	if err != nil {
		t.Fatal(err)
	}
	list, ds := compile.Targets(tree)
	if ds.Err() != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, ds.Err())
	}
	if len(list[0].Errors) > 0 {
		return errors.New(list[0].Errors[0])
	}
	return nil
}

// TestRootBundleAfterAHeldModule: a rollout with a new module is rolled back. A later change of the root bundle, which
// names the module, reaches the targets, and agents can compile it without the module.
func TestRootBundleAfterAHeldModule(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.until(one, one)
	s.turn(one)
	s.bad = "n2"
	s.turn("top=t2@c2 modules/web=w1@c1 modules/new=n2@c2")
	s.until("top=t2@c2 modules/web=w1@c1 modules/new=n2@c2", one)
	back := "top=t3@c3 modules/web=w1@c1"
	s.until(back+" modules/new=n2@c2", back)
	s.turn(back + " modules/new=n2@c2")
	a := s.was["t1"]
	if err := compiles(t, *a); err != nil || !slices.Equal(a.Withheld, []string{"modules/new"}) {
		t.Errorf("an agent cannot compile %s without %s: %v", text(*a), strings.Join(a.Withheld, " "), err)
	}
	s.bad = ""
	command := rollout.Command{Action: rollout.ToRelease, Rollout: "r2", By: "jane"}
	if _, err := s.hub.Order(t.Context(), command, s.head.Now); err != nil {
		t.Fatal(err)
	}
	all := back + " modules/new=n2@c2"
	s.until(all, all)
	if a := s.was["t1"]; len(a.Withheld) > 0 {
		t.Errorf("after the release: %v", a.Withheld)
	}
}

// TestReturnWhileTheRootBundleChanges: while a rollout returns a target from a new module, which its root bundle names,
// a commit changes the root bundle. Agents can compile the previous one without the module.
func TestReturnWhileTheRootBundleChanges(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.until(one, one)
	s.bad = "n2"
	s.turn("top=t2@c2 modules/web=w1@c1 modules/new=n2@c2")
	s.until("top=t2@c2 modules/web=w1@c1 modules/new=n2@c2", one)
	back := "top=t3@c3 modules/web=w1@c1"
	s.until(back+" modules/new=n2@c2", back)
	command := rollout.Command{Action: rollout.ToRelease, Rollout: "r2", By: "jane"}
	if _, err := s.hub.Order(t.Context(), command, s.head.Now); err != nil {
		t.Fatal(err)
	}
	granted := 0
	for range 20 {
		granted = len(s.contents())
		if granted == 2 {
			break
		}
		s.turn(back + " modules/new=n2@c2")
	}
	s.turn("top=t4@c4 modules/web=w1@c1 modules/new=n2@c2")
	if got := s.contents(); granted != 2 || !slices.Contains(got, back) {
		t.Fatalf("%d contents, and then %q", granted, got)
	}
	for id, a := range s.was {
		if err := compiles(t, *a); err != nil {
			t.Errorf("%s cannot compile %s without %v: %v", id, text(*a), a.Withheld, err)
		}
	}
}

// TestFirstInstallationWaits: targets get the root bundle and the other modules without a module that waits for another
// one, and this module when the other one is ready.
func TestFirstInstallationWaits(t *testing.T) {
	s := newSite(t, hubOf(t, bustest.NewStore()))
	s.head.Head.Strategies[0].Afters = []query.StrategyAfter{{Modules: []string{"modules/new"}, Module: "modules/web",
		Targets: []string{"t1", "t2", "t3"}, Ready: "100%"}}
	s.head.Ready = map[string]map[fleet.TargetID]bool{"modules/web": {}}
	all := one + " modules/new=n1@c1"
	s.until(all, one)
	for range 5 {
		s.turn(all)
	}
	a := s.was["t1"]
	if err := compiles(t, *a); err != nil || !slices.Equal(s.contents(), []string{one}) {
		t.Errorf("%q; an agent cannot compile it without %v: %v", s.contents(), a.Withheld, err)
	}
	s.head.Ready["modules/web"] = map[fleet.TargetID]bool{"t1": true, "t2": true, "t3": true}
	s.until(all, all)
	if a := s.was["t1"]; len(a.Withheld) > 0 {
		t.Errorf("it has all modules, and lacks %v", a.Withheld)
	}
}

// TestWithheld: an agent must compile the root bundle without the modules that this bundle or labels can name, and that
// the target does not have yet.
func TestWithheld(t *testing.T) {
	const want = "top=t2@c2 d=1@c2 b=1@c2 c=1@c2 a=1@c2"
	for name, c := range map[string]struct {
		was, withheld, give string
		labels              map[string]string
		want                []string
	}{
		"the new root bundle": {"top=t1@c1 a=0@c1", "", "top=t2@c2 a=0@c1", nil, []string{"b", "c", "d"}},
		"another order":       {"top=t1@c1", "", "top=t2@c2 a=1@c2 c=1@c2 b=1@c2", nil, []string{"d"}},
		"all modules":         {"top=t1@c1", "", want, nil, nil},
		"the old root bundle": {"top=t1@c1 a=0@c1", "", "top=t1@c1 a=0@c1", nil, nil},
		"as before":           {"top=t1@c1 a=0@c1", "b x a", "top=t1@c1 a=0@c1", nil, []string{"b", "x"}},
		"not named any more":  {"top=t1@c1 a=0@c1", "b x a", "top=t2@c2 a=0@c1", nil, []string{"b", "c", "d"}},
		"a returned module":   {"top=t1@c1 a=0@c1 b=1@c2", "", "top=t1@c1 a=0@c1", nil, []string{"b"}},
		"a removed module":    {"top=t1@c1 a=0@c1 x=1@c1", "", "top=t1@c1 a=0@c1", nil, []string{"x"}},
		"new labels": {"top=t1@c1 a=0@c1", "", "top=t1@c1 a=0@c1", map[string]string{"role": "web"},
			[]string{"b", "c", "d"}},
		"a new target":  {"", "", "top=t2@c2 d=1@c2 c=1@c2", nil, []string{"a", "b"}},
		"in the middle": {"top=t1@c1", "", "top=t2@c2 d=1@c2 x=1@c1 a=1@c2", nil, []string{"b", "c"}},
	} {
		was, give := assignment(c.was), assignment(c.give)
		if was != nil {
			was.Withheld = strings.Fields(c.withheld)
		}
		give.Labels = c.labels
		if got := withheld(was, *assignment(want), *give); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q instead of %q", name, got, c.want)
		}
	}
}
