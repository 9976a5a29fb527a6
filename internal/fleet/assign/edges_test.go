package assign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// TestUsesOfABundle: uses of one bundle are one module, at the position of the first. Of two needs
// of the same module the higher level wins, and the need is a layer only if both are. The root
// bundle is not a module, and no module needs it.
func TestUsesOfABundle(t *testing.T) {
	need := func(directory, level string, layer bool) query.Need {
		return query.Need{Directory: "modules/" + directory, Level: level, Layer: layer}
	}
	top := query.Need{Directory: "services/x", Level: "version"}
	uses := []query.Use{
		{Directory: "services/x"},
		{Directory: "modules/web/a", Needs: []query.Need{need("db", "availability", true), need("base", "completion", true),
			need("web/b", "version", false), top}},
		{Directory: "modules/db", Exported: []source.Exported{{Name: "dbs"}}},
		{Directory: "modules/web/b", Exported: []source.Exported{{Name: "webs"}},
			Needs: []query.Need{need("base", "version", true), need("db", "completion", false)}},
		{Directory: "modules/base"},
	}
	got := assign.TargetsOf([]query.Target{{Name: "web1", Uses: uses}})["web1"]
	want := "[{modules/web [{modules/base version true} {modules/db availability false}] []} {modules/db [] []} {modules/base [] []}] []"
	if text := fmt.Sprint(got.Modules, got.Errors); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if e := got.ExportUses; len(e) != 2 || e[0].Name != "dbs" || e[1].Name != "webs" {
		t.Errorf("%+v", e)
	}
}

// TestApprovalsAreForOneModule: an approval for one module does not apply to another one.
func TestApprovalsAreForOneModule(t *testing.T) {
	modules := []string{"top=1", "a=1@role=a", "b=1@role=b", "base=1@*"}
	g := newGuarded(t, 20, modules...)
	for i := range 10 {
		g.label(i, "b")
	}
	if out := g.compute(); digestOf(out, assign.MassRemoval) == "" {
		t.Fatal("ten of twenty may lose a module")
	} else {
		g.approve(digestOf(out, assign.MassRemoval), g.now)
	}
	g.compute()
	g.push("main", "top=1", "a=1@role=none", "b=1@role=none", "base=1@*")
	out := g.compute()
	if len(out.Alarms) != 2 || out.Alarms[0].Module != "modules/a" || out.Alarms[1].Module != "modules/b" {
		t.Fatalf("%+v", out.Alarms)
	}
	g.approve(out.Alarms[0].Digest, g.now)
	out = g.compute()
	if len(out.Alarms) != 1 || out.Alarms[0].Module != "modules/b" || out.Alarms[0].Count != 10 ||
		len(out.Assignments) != 10 {
		t.Errorf("%d assignments, %+v", len(out.Assignments), out.Alarms)
	}
	g.now += 24 * 60 * 60
	g.approve(out.Alarms[0].Digest, g.now-24*60*60)
	if out = g.compute(); len(out.Alarms) != 1 {
		t.Errorf("an approval holds for more than a day: %+v", out)
	}
	g.approve(out.Alarms[0].Digest, g.now-24*60*60+1)
	if out = g.compute(); len(out.Alarms) != 0 {
		t.Errorf("an approval holds for less than a day: %+v", out.Alarms)
	}
}

// TestAlarmsNameTwenty: an alarm counts all targets and names the first twenty of them.
func TestAlarmsNameTwenty(t *testing.T) {
	for _, n := range []int{19, 20, 21, 40} {
		g := newGuarded(t, n, "top=1", "web=1@*")
		g.push("main", "top=1", "web=1@none=x")
		a := g.compute().Alarms
		if len(a) != 1 || a[0].Count != n || len(a[0].Targets) != min(n, 20) || !slices.IsSorted(a[0].Targets) {
			t.Errorf("of %d: %+v", n, a)
		}
	}
}

// TestPinsOfModulesGoTogether: a pinned module has its own needs from its revision, and layers from
// the present one. Targets whose pins cause a missing need or a cycle keep their assignment.
func TestPinsOfModulesGoTogether(t *testing.T) {
	for what, c := range map[string]struct {
		here, there []string
		want        string // needs of web, or a part of the alarm
	}{
		"what it needs there": {[]string{"web=1@*+base", "base=1@*"}, []string{"web=0@*"}, "[]"},
		"a need that is there too": {[]string{"web=1@*", "base=1@*"}, []string{"web=0@*+base", "base=0@*"},
			"[{modules/base availability false}]"},
		"a need that is not here": {[]string{"web=1@*"}, []string{"web=0@*+base", "base=0@*"},
			"modules/web needs modules/base, which the target does not have"},
		"a circle": {[]string{"web=1@*", "base=1@*+web"}, []string{"web=0@*+base", "base=0@*"},
			"which needs modules/"},
	} {
		g := newGuarded(t, 1, append([]string{"top=1"}, c.here...)...)
		g.push("old", append([]string{"top=1"}, c.there...)...)
		p := assign.Pin{Key: "x", Target: idOf(nameOf(0)), Pin: fleet.Pin{Module: "modules/web", Ref: "old", By: "ann"}}
		g.fold(assign.Event{Kind: assign.PinEvent, Key: p.Key, Pin: &p})
		out := g.compute()
		if len(out.Assignments) == 0 {
			if len(out.Alarms) != 1 || out.Alarms[0].Kind != assign.ConfigurationError ||
				!strings.Contains(out.Alarms[0].Text, c.want) {
				t.Errorf("%s: %+v", what, out.Alarms)
			}
			continue
		}
		for _, m := range out.Assignments[0].Modules {
			if got := fmt.Sprint(m.Needs); m.Module == "modules/web" && got != c.want {
				t.Errorf("%s: web needs %s, want %s", what, got, c.want)
			}
		}
	}
}

// TestLayersStayWithPins: a layer also applies to a module at a pinned revision, unless the module
// needs the layer itself there.
func TestLayersStayWithPins(t *testing.T) {
	need := func(name string, level fleet.Level, layer bool) fleet.Need {
		return fleet.Need{Module: "modules/" + name, Level: level, Layer: layer}
	}
	web1 := fleet.Target{ID: idOf("web1"), Name: "web1", Standing: fleet.Active,
		Pin: &fleet.Pin{Module: "modules/web", Ref: "old", By: "ann"}}
	contents := func(commit string, needs ...fleet.Need) assign.Contents {
		c := assign.Contents{Revision: fleet.Revision{Repository: "site", Commit: commitOf(commit)},
			Enrolled: assign.EnrolledDigest([]fleet.Target{web1}),
			Bundles:  map[string]fleet.Bundle{},
			Targets: map[string]assign.Configured{"web1": {Modules: []assign.Module{{Directory: "modules/web", Needs: needs},
				{Directory: "modules/base"}, {Directory: "modules/os"}, {Directory: "modules/net"}}}}}
		for _, m := range c.Targets["web1"].Modules {
			c.Bundles[m.Directory] = bundleOf(m.Directory, commit)
		}
		return c
	}
	out := assign.Compute(assign.Input{Now: 1, Epoch: 1, Branch: "main", Targets: []fleet.Target{web1},
		Refs: map[string]assign.Ref{"main": {Commit: commitOf("new")}, "old": {Commit: commitOf("old")}},
		Revisions: map[string]assign.Contents{
			commitOf("new"): contents("new", need("base", fleet.Available, true), need("net", fleet.Available, false),
				need("os", fleet.Available, true)),
			commitOf("old"): contents("old", need("os", "version", false), need("net", "completion", true)),
		}})
	if len(out.Assignments) != 1 {
		t.Fatalf("%+v", out)
	}
	if got := fmt.Sprint(
		out.Assignments[0].Modules[0].Needs); got != "[{modules/base availability true} {modules/os version false}]" {
		t.Errorf("it needs %s", got)
	}
}

// TestNeededAgain: contents are needed for each commit that a target follows, and again after
// enrolled targets changed. An unreadable commit is not read again for this reason.
func TestNeededAgain(t *testing.T) {
	g := newGuarded(t, 2, "top=1")
	in := g.s.Input(g.now, map[string]assign.Contents{})
	needed := func(what string, want ...string) {
		t.Helper()
		slices.Sort(want)
		if got := assign.Needed(in); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	main := in.Refs["main"].Commit
	needed("nothing is read", main)
	in.Revisions[main] = g.w.contents(main, in.Targets)
	needed("all is read")
	in.Revisions[main] = g.w.contents(main, in.Targets[:1])
	needed("it was read for another fleet", main)
	in.Revisions[main] = assign.Contents{Error: "broken", Enrolled: "sha256:another"}
	needed("it cannot be read")
	g.push("fix", "top=2")
	g.pin(0, "fix", 0)
	g.pin(1, "nosuch", 0)
	in = g.s.Input(g.now, map[string]assign.Contents{})
	needed("a pin", main, in.Refs["fix"].Commit)
}

// TestTargetsWithOneModule: targets with equally many, but different modules do not share them.
func TestTargetsWithOneModule(t *testing.T) {
	g := newGuarded(t, 2, "top=1", "a=1@role=a", "b=1@role=b")
	g.label(1, "b")
	g.compute()
	for i, want := range []string{"modules/a", "modules/b"} {
		if got := g.s.Input(g.now, nil).Previous[idOf(nameOf(i))].Modules; len(got) != 1 || got[0].Module != want {
			t.Errorf("%s has %+v, want %s", nameOf(i), got, want)
		}
	}
}

// TestRevisionsStayWithTheirModules: a module whose bundle did not change keeps its revision, also
// when other modules are added before it or removed. The root bundle has the assigned commit.
func TestRevisionsStayWithTheirModules(t *testing.T) {
	g := newGuarded(t, 1, "top=1", "b=1@*", "c=1@*", "d=1@*")
	first := g.s.Input(g.now, nil).Refs["main"].Commit
	g.push("main", "top=1", "a=1@*", "b=2@*", "c=1@*", "d=1@*")
	second := g.s.Input(g.now, nil).Refs["main"].Commit
	g.compute()
	check := func(want map[string]string) {
		t.Helper()
		a := g.s.Input(g.now, nil).Previous[idOf(nameOf(0))]
		got := map[string]string{"": a.Root.Revision.Commit}
		for _, m := range a.Modules {
			got[strings.TrimPrefix(m.Module, "modules/")] = m.Revision.Commit
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	check(map[string]string{"": second, "a": second, "b": second, "c": first, "d": first})
	g.push("main", "top=1", "c=1@*", "d=2@*")
	for _, a := range g.compute().Alarms {
		g.approve(a.Digest, g.now) // nothing else has the modules that go
	}
	g.compute()
	third := g.s.Input(g.now, nil).Refs["main"].Commit
	check(map[string]string{"": third, "c": first, "d": third})
}

// TestValuesSettle: a target that just got exported values gets the next ones fifteen seconds
// later, but at once if anything else changes or the clock was set back.
func TestValuesSettle(t *testing.T) {
	for _, c := range []struct {
		after int64
		given bool
		next  int64
	}{{0, false, 15}, {14, false, 1}, {15, true, 0}, {-1, true, 0}} {
		s := newSharing()
		s.export("web1", `"a"`)
		s.step()
		s.export("web1", `"b"`)
		s.now += c.after
		out := s.step()
		next := max(out.Next-s.now, 0)
		if given := len(out.Assignments) == 1; given != c.given || next != c.next {
			t.Errorf("after %d s: %d assignments, again in %d", c.after, len(out.Assignments), next)
		}
	}
	s := newSharing()
	s.export("web1", `"a"`)
	s.step()
	s.export("web1", `"b"`)
	f := assign.Freeze{Key: "x", Targets: []fleet.TargetID{idOf("lb1")}, Reason: "a feast"}
	s.fold(assign.Event{Kind: assign.FreezeEvent, Key: f.Key, Freeze: &f})
	if out := s.step(); len(out.Assignments) != 1 {
		t.Errorf("a freeze waits for values: %+v", out.Assignments)
	}
}

// TestWhyNamesModules: the explanation of a module contains the level of each need, and the modules
// that need it.
func TestWhyNamesModules(t *testing.T) {
	web1 := fleet.Target{ID: idOf("web1"), Name: "web1", Standing: fleet.Active,
		Labels: map[string]string{"b": "2", "a": "1"},
		Pin:    &fleet.Pin{Module: "modules/os", Ref: "main", By: "ann", Until: 90, Reason: "a try"}}
	modules := []assign.Module{{Directory: "modules/web", From: []string{"role web", "target"},
		Needs: []fleet.Need{{Module: "modules/os", Level: "version", Layer: true}}}, {Directory: "modules/os"}}
	out := assign.Compute(assign.Input{Now: 1, Epoch: 1, Branch: "main", Targets: []fleet.Target{web1},
		Refs: map[string]assign.Ref{"main": {Commit: commitOf("x")}},
		Revisions: map[string]assign.Contents{commitOf("x"): {Revision: fleet.Revision{Commit: commitOf("x")},
			Enrolled: assign.EnrolledDigest([]fleet.Target{web1}),
			Bundles:  map[string]fleet.Bundle{"modules/web": bundleOf("web", ""), "modules/os": bundleOf("os", "")},
			Targets:  map[string]assign.Configured{"web1": {Modules: modules}}}}})
	at := fmt.Sprintf("%.12s", commitOf("x"))
	head := "web1 is active, with a=1 b=2\nmodules/os is pinned to main by ann until 1970-01-01 00:01 UTC: a try\nit follows main, which is at " + at + "\n"
	tail := "\nthe assignment is issued without delay\nit gets generation 1 of epoch 1"
	for module, want := range map[string]string{
		"": strings.TrimSuffix(head, "\n") + tail,
		"modules/web": head + "modules/web is assigned by role web, target\nmodules/web is at " + at +
			" of main\nit needs modules/os (version, a layer)" + tail,
		"modules/os": head + "modules/os is assigned by \nmodules/os is at " + at +
			" of main\nit is needed by modules/web (version, a layer)" + tail,
		"modules/no": head + "no target group, role or target assigns modules/no to it" + tail,
	} {
		if got := strings.Join(out.Why(web1.ID, module), "\n"); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", module, got, want)
		}
	}
	out.Written()
	if got := strings.Join(out.Why(web1.ID, ""), "\n"); got != head+"it has generation 1 of epoch 1" {
		t.Errorf("after the assignment was written:\n%s", got)
	}
	if got := out.Why(idOf("gone"), ""); len(got) != 1 || got[0] != "the registry has no entry of this target" {
		t.Error(got)
	}
}

// TestClonedTargets: the assignment of a target whose identity several hosts have does not change, and
// an alarm names the target.
func TestClonedTargets(t *testing.T) {
	g := newGuarded(t, 3, "top=1", "a=1@role=a")
	cloned := fleet.Target{ID: idOf(nameOf(1)), Name: nameOf(1), Standing: fleet.Active,
		Labels: map[string]string{"role": "a"}, Suspect: &fleet.Suspicion{Copies: make([]fleet.Copy, 2)}}
	g.fold(assign.Event{Kind: assign.TargetEvent, Key: string(cloned.ID), Target: &cloned})
	g.push("main", "top=1", "a=2@role=a")
	out := g.compute()
	if len(out.Assignments) != 2 || len(out.Alarms) != 1 {
		t.Fatalf("%d assignments, %+v", len(out.Assignments), out.Alarms)
	}
	if a := out.Alarms[0]; a.Kind != assign.Cloned || a.Count != 1 || !strings.Contains(a.Text, "it was cloned") {
		t.Errorf("%+v", a)
	}
}
