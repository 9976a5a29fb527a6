package assign_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/window"
)

// envWorld computes assignments twice: in a fleet with environments that operators create, and in a twin without them.
type envWorld struct {
	world
	t         *rapid.T
	now       int64
	rev       uint64
	with      *assign.State
	without   *assign.State
	names     []string
	everIn    map[string]bool // targets that were in an environment
	environed map[string]assign.Environment
	version   int
}

var envBranches = []string{"fix-1", "fix-2"}

func newEnvWorld(t *rapid.T) *envWorld {
	w := &envWorld{t: t, now: 1_000_000, world: world{commits: map[string]revision{}}, everIn: map[string]bool{},
		with: assign.NewState(1, "main"), without: assign.NewState(1, "main"), environed: map[string]assign.Environment{}}
	w.with.MaxPinned = 100
	w.scopes.Scopes = []query.Scope{{Kind: assign.EnvironmentKind, Name: "staging", Checks: []query.ScopeCheck{
		{Name: "inside", Branches: true}, {Name: "shop", From: []string{"probe"}, Outside: true, Branches: true},
		{Name: "parent", From: []string{"other"}, Outside: true}}}}
	w.register("probe", nil)
	w.register("other", nil)
	for i := range rapid.IntRange(2, 7).Draw(t, "targets") {
		name := fmt.Sprintf("st-%d", i)
		w.names = append(w.names, name)
		w.register(name, map[string]string{"role": w.role(i)})
	}
	for _, branch := range append([]string{"main"}, envBranches...) {
		w.push(branch)
	}
	w.step()
	return w
}

func (w *envWorld) both(e assign.Event) {
	w.rev++
	e.Rev = w.rev
	w.with.Fold(e)
	w.without.Fold(e)
}

func (w *envWorld) register(name string, labels map[string]string) {
	t := &fleet.Target{ID: idOf(name), Name: name, Standing: fleet.Active, Labels: labels}
	w.both(assign.Event{Kind: assign.TargetEvent, Key: string(idOf(name)), Target: t})
}

func (w *envWorld) push(branch string) {
	w.version++
	content := func() string { return fmt.Sprint(rapid.IntRange(1, 3).Draw(w.t, "content of "+branch)) }
	commit := commitOf(fmt.Sprint(w.version))
	w.commits[commit] = parseModules([]string{"top=" + content(), "base=" + content() + "@*",
		"web=" + content() + "@role=web+base", "db=" + content() + "@role=db",
		"more=" + content() + "@more=yes"})
	w.both(assign.Event{Kind: assign.RefEvent, Key: branch, Ref: &assign.Ref{Commit: commit}})
}

func (w *envWorld) role(i int) string { return []string{"web", "db"}[i%2] }

// free returns the targets that are not in an environment.
func (w *envWorld) free() []string {
	of := assign.EnvironmentsOf(slices.Collect(maps.Values(w.environed)), w.now)
	return slices.DeleteFunc(slices.Clone(w.names), func(name string) bool { _, in := of[idOf(name)]; return in })
}

// create creates an environment with some targets that are in none.
func (w *envWorld) create() {
	free := w.free()
	if len(free) == 0 {
		return
	}
	e := assign.Environment{Name: fmt.Sprintf("review-%d", w.rev), By: "kim", At: w.now,
		Parent:  rapid.SampledFrom([]string{"staging", "staging", "production"}).Draw(w.t, "parent"),
		Branch:  rapid.SampledFrom(envBranches).Draw(w.t, "branch"),
		Modules: rapid.SampledFrom([][]string{nil, {"modules/base"}, {"modules/base", "modules/web"}}).Draw(w.t, "modules"),
		Domain:  rapid.SampledFrom([]string{"", "review.example.org"}).Draw(w.t, "domain"),
		Vars:    rapid.SampledFrom([]map[string]string{nil, {"replicas": "1"}}).Draw(w.t, "vars"),
		Until:   w.now + rapid.Int64Range(1, 100).Draw(w.t, "seconds")}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(free), 1, len(free), rapid.ID).Draw(w.t, "members") {
		e.Targets = append(e.Targets, idOf(name))
		w.everIn[name] = true
	}
	w.rev++
	w.environed[e.Name] = e
	w.with.Fold(assign.Event{Rev: w.rev, Kind: assign.EnvironmentEvent, Key: e.Name, Environment: &e})
}

func (w *envWorld) remove() {
	if len(w.environed) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.environed))).Draw(w.t, "environment")
	w.rev++
	delete(w.environed, name)
	w.with.Fold(assign.Event{Rev: w.rev, Kind: assign.EnvironmentEvent, Key: name})
}

// step computes both worlds, and compares them.
func (w *envWorld) step() {
	out := assign.Compute(w.input(w.with, w.now))
	w.with.ApplyOutput(out)
	w.without.ApplyOutput(assign.Compute(w.input(w.without, w.now)))
	if again := assign.Compute(w.input(w.with, w.now)); len(again.Assignments) > 0 {
		w.t.Fatalf("a repetition assigns again: %+v", again.Assignments)
	}
	got, want := w.with.Input(w.now, nil).Previous, w.without.Input(w.now, nil).Previous
	of := assign.EnvironmentsOf(slices.Collect(maps.Values(w.environed)), w.now)
	w.tests(got, want)
	for _, name := range w.names {
		id := idOf(name)
		e, in := of[id]
		switch {
		case in:
			w.follows(got[id], want[id], e)
		case w.everIn[name]:
			if a, b := contentOf(got[id]), contentOf(want[id]); a != b {
				w.t.Fatalf("%s returned to\n%s, and the content without environments is\n%s", name, a, b)
			}
		case marshalled(w.t, got[id]) != marshalled(w.t, want[id]):
			w.t.Fatalf("%s was in no environment. It has\n%s, and without environments\n%s", name, marshalled(w.t, got[id]),
				marshalled(w.t, want[id]))
		}
	}
}

// tests checks that only the target outside has the environments whose checks it tests, and no other change.
func (w *envWorld) tests(got, without map[fleet.TargetID]fleet.Assignment) {
	var want []string
	for _, name := range slices.Sorted(maps.Keys(w.environed)) {
		if e := w.environed[name]; e.InForce(w.now) && e.Parent == "staging" {
			want = append(want, e.Name+" "+e.Domain)
		}
	}
	var names []string
	a := got[idOf("probe")]
	for _, e := range a.TestsFor {
		if names = append(names, e.Name+" "+e.Domain); e.Parent != "staging" || e.Vars != nil {
			w.t.Fatalf("the target outside has the environment %+v", e)
		}
	}
	if !slices.Equal(names, want) {
		w.t.Fatalf("the target outside tests the checks of %q, not of %q", names, want)
	}
	if a.TestsFor = nil; contentOf(a) != contentOf(without[idOf("probe")]) {
		w.t.Fatalf("the target outside has other content: %+v", a)
	}
	if marshalled(w.t, got[idOf("other")]) != marshalled(w.t, without[idOf("other")]) {
		w.t.Fatalf("a target that tests other checks has %s", marshalled(w.t, got[idOf("other")]))
	}
}

// follows checks the assignment of a member. other is its assignment without environments.
func (w *envWorld) follows(got, other fleet.Assignment, e assign.Environment) {
	in := &fleet.Environment{Name: e.Name, Parent: e.Parent, Domain: e.Domain, Vars: e.Vars}
	if got.TestsFor != nil {
		w.t.Fatalf("a member tests the checks of %+v from outside", got.TestsFor)
	}
	if !got.Environment.Same(in) {
		w.t.Fatalf("%s has the environment %+v, want %+v", got.Name, got.Environment, in)
	}
	head := w.commits[w.with.Input(w.now, nil).Refs[e.Branch].Commit]
	root := other.Root.Bundle
	if len(e.Modules) == 0 {
		root = bundleOf("", head.top)
	}
	if got.Root.Bundle != root {
		w.t.Fatalf("%s has another root bundle", got.Name)
	}
	if len(got.Modules) != len(other.Modules) {
		w.t.Fatalf("%s has other modules: %+v", got.Name, got.Modules)
	}
	for i, m := range got.Modules {
		bundle := other.Modules[i].Bundle
		if len(e.Modules) == 0 || slices.Contains(e.Modules, m.Module) {
			name := strings.TrimPrefix(m.Module, "modules/")
			bundle = bundleOf(name, head.modules[name].text())
		}
		if m.Bundle != bundle {
			w.t.Fatalf("%s has another content of %s, branch %s", got.Name, m.Module, e.Branch)
		}
	}
}

func marshalled(t *rapid.T, a fleet.Assignment) string {
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// contentOf describes an assignment without generations, times and the commits of unchanged content.
func contentOf(a fleet.Assignment) string {
	text := fmt.Sprintln(a.Name, a.Labels, a.Withdrawn, a.Root.Bundle, a.Root.Rollout, a.Root.Revision.Branch,
		a.Environment.Text())
	for _, m := range a.Modules {
		text += fmt.Sprintln(m.Module, m.Bundle, m.Rollout, m.Revision.Branch, m.Needs)
	}
	return text
}

// TestEnvironmentsTouchNoOtherTarget: an environment changes only its members, and they return to the content that they
// would have without it.
func TestEnvironmentsTouchNoOtherTarget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newEnvWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w.push(rapid.SampledFrom(append([]string{"main"}, envBranches...)).Draw(t, "branch"))
				w.step()
			},
			"create": func(*rapid.T) { w.create(); w.step() },
			"remove": func(*rapid.T) { w.remove(); w.step() },
			"time":   func(t *rapid.T) { w.now += rapid.Int64Range(1, 50).Draw(t, "seconds"); w.step() },
			"label": func(t *rapid.T) { // no module is removed, because the guard counts only targets without a pin
				i := rapid.IntRange(0, len(w.names)-1).Draw(t, "target")
				w.register(w.names[i], map[string]string{"role": w.role(i), "more": "yes"})
				w.step()
			},
		})
	})
}

// envStory is a fleet of three targets, of which st-2 is in the environment review.
func envStory(t *testing.T, change func(*assign.Environment)) (*story, assign.Environment) {
	x := &story{t: t, w: world{commits: map[string]revision{}}, s: assign.NewState(1, "main"), now: 1_000_000,
		known: map[string]fleet.Target{}}
	for _, line := range []string{"target st-1 role=web", "target st-2 role=web", "target st-3 role=web",
		"push main one top=a web=1@*", "push fix two top=b web=2@*", "push other three top=c web=3@*", "tick 1s"} {
		x.run(line, strings.Fields(line))
	}
	e := assign.Environment{Name: "review", Parent: "staging", Branch: "fix", Targets: []fleet.TargetID{idOf("st-2")},
		By: "kim", Reason: "test", At: 5, Until: x.now + 3600}
	if change != nil {
		change(&e)
	}
	x.environment(e)
	return x, e
}

func (x *story) environment(e assign.Environment) {
	x.fold(assign.Event{Kind: assign.EnvironmentEvent, Key: e.Name, Environment: &e})
	x.pass("1s")
}

func (x *story) pass(d string) { x.run("tick "+d, []string{"tick", d}) }

// alarmed returns the texts of the alarms of a kind.
func (x *story) alarmed(kind assign.AlarmKind) (out []string) {
	for _, a := range x.last.Alarms {
		if a.Kind == kind {
			out = append(out, a.Text)
		}
	}
	return out
}

func (x *story) bundle(name string) fleet.Bundle {
	return x.s.Input(x.now, nil).Previous[idOf(name)].Root.Bundle
}

func TestEnvironmentExplained(t *testing.T) {
	x, e := envStory(t, nil)
	why := strings.Join(x.last.Why(idOf("st-2"), ""), "\n")
	const want = "it is in the environment review of kim until 1970-01-12 14:46 UTC: test, so its content follows fix"
	if !strings.Contains(why, want) ||
		strings.Contains(why, "follows main") {
		t.Error(why)
	}
	if x.last.Next != e.Until {
		t.Errorf("the next computation is at %d", x.last.Next)
	}
	x.pass("1h")
	if got := x.bundle("st-2"); got != bundleOf("", "a") {
		t.Error("the target does not return at the end")
	}
}

// TestEnvironmentConflicts: an environment that has no effect raises an alarm.
func TestEnvironmentConflicts(t *testing.T) {
	x, e := envStory(t, nil)
	second := e
	second.Name, second.Branch, second.At = "again", "other", e.At+1
	x.environment(second)
	if a := x.alarmed(assign.EnvironmentConflict); x.bundle("st-2") != bundleOf("", "b") || len(a) != 1 ||
		!strings.Contains(a[0], "st-2 is in the environments review and again") {
		t.Errorf("%v %v", x.bundle("st-2"), a)
	}
	x.fold(assign.Event{Kind: assign.EnvironmentEvent, Key: e.Name})
	x.pass("1s")
	if x.bundle("st-2") != bundleOf("", "c") || len(x.last.Alarms) > 0 {
		t.Errorf("%v %v", x.bundle("st-2"), x.last.Alarms)
	}
	pin := assign.Pin{Key: "p", Target: idOf("st-2"), Pin: fleet.Pin{Ref: "fix", By: "eve"}}
	x.fold(assign.Event{Kind: assign.PinEvent, Key: "p", Pin: &pin})
	x.pass("1s")
	if a := x.alarmed(assign.Conflict); len(a) != 1 || !strings.Contains(a[0], "fettle environment remove again") {
		t.Errorf("%v", x.last.Alarms)
	}
}

// TestEnvironmentIsDeclared: a name that the repository declares later belongs to the repository.
func TestEnvironmentIsDeclared(t *testing.T) {
	x, e := envStory(t, nil)
	in := x.w.input(x.s, x.now)
	head := in.Revisions[commitOf("one")]
	head.Scopes = query.Scopes{Scopes: []query.Scope{{Kind: "cluster", Name: e.Name}}}
	in.Revisions[commitOf("one")] = head
	if out := assign.Compute(in); len(out.Alarms)+len(out.Assignments) > 0 {
		t.Errorf("a cluster of this name counts: %+v", out)
	}
	head.Scopes.Scopes[0].Kind = assign.EnvironmentKind
	out := assign.Compute(in)
	if len(out.Assignments) != 1 || out.Assignments[0].Root.Bundle != bundleOf("", "a") || len(out.Alarms) != 1 ||
		out.Alarms[0].Kind != assign.EnvironmentConflict {
		t.Errorf("%+v", out)
	}
}

// TestEnvironmentCountsAsPins: the limit of pinned targets includes targets of environments, and retired targets leave.
func TestEnvironmentCountsAsPins(t *testing.T) {
	x, e := envStory(t, nil)
	x.s.MaxPinned = 1
	e.Name, e.Targets = "more", []fleet.TargetID{idOf("st-3")}
	x.environment(e)
	if a := x.alarmed(assign.TooManyPinned); len(a) != 1 || x.bundle("st-3") != bundleOf("", "a") {
		t.Errorf("%v", x.last.Alarms)
	}
	x.run("", []string{"target", "st-2", "retired", "role=web"})
	x.pass("1s")
	if len(x.last.Alarms) != 0 || x.bundle("st-3") != bundleOf("", "b") {
		t.Errorf("%v", x.last.Alarms)
	}
}

// TestChecksOutsideOfWindows: a target whose windows are closed keeps its content. It tests the checks of a new
// environment at once, because they change nothing on the host, and no longer tests them after the end.
func TestChecksOutsideOfWindows(t *testing.T) {
	x, e := envStory(t, nil)
	x.w.scopes.Scopes = []query.Scope{{Kind: assign.EnvironmentKind, Name: "staging", Checks: []query.ScopeCheck{
		{Name: "shop", From: []string{"st-1"}, Outside: true, Branches: true}}}}
	x.run("push main four top=d", []string{"push", "main", "four", "top=d", "web=4@*"})
	compute := func() (out fleet.Assignment) {
		in := x.w.input(x.s, x.now)
		for commit, c := range in.Revisions {
			conf := c.Targets["st-1"]
			conf.Windows = []window.Window{{Name: "nights", Schedule: "0 2 * * *", Seconds: 60, Zone: "UTC"}}
			in.Revisions[commit].Targets["st-1"] = conf
		}
		x.last = assign.Compute(in)
		x.s.ApplyOutput(x.last)
		return x.s.Input(x.now, nil).Previous[idOf("st-1")]
	}
	is := compute()
	if len(is.TestsFor) != 1 || is.TestsFor[0].Name != "review" || is.Root.Bundle != bundleOf("", "a") {
		t.Errorf("outside of its windows, the target has %+v", is)
	}
	x.fold(assign.Event{Kind: assign.EnvironmentEvent, Key: e.Name})
	if is := compute(); len(is.TestsFor) > 0 || is.Root.Bundle != bundleOf("", "a") {
		t.Errorf("after the end, the target has %+v", is)
	}
}
