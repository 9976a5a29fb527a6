package environments

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// followWorld is a repository with branches, and a hub with rules, which polls.
type followWorld struct {
	t        *rapid.T
	now      int64
	rules    map[string]records.EnvironmentRule
	stored   map[string]assign.Environment
	branches map[string]bool
	gone     map[fleet.TargetID]bool // retired targets
}

func (w *followWorld) targets() (out []fleet.TargetID) {
	for i := range 4 {
		out = append(out, fleet.TargetID(fmt.Sprint("st-", i)))
	}
	return out
}

// poll decides, stores the result, and checks it. If unreadable is set, the branches cannot be read.
func (w *followWorld) poll(unreadable bool) followed {
	p := polled{now: w.now, branches: map[string][]string{}, errs: map[string]error{}, branch: "main",
		pool: map[string][]fleet.TargetID{}, poolErrs: map[string]error{}, active: map[fleet.TargetID]bool{},
		declared: map[string]bool{"review-9": true}}
	for _, name := range names(w.stored) {
		p.environments = append(p.environments, w.stored[name])
	}
	for _, id := range w.targets() {
		p.active[id] = !w.gone[id]
	}
	for _, r := range w.rules {
		p.rules = append(p.rules, r)
		if p.branches[r.Name] = names(w.branches); unreadable {
			p.branches[r.Name], p.errs[r.Name] = nil, errors.New("no answer")
		}
		for _, id := range w.targets() {
			if !w.gone[id] {
				p.pool[r.Name] = append(p.pool[r.Name], id)
			}
		}
	}
	before := maps.Clone(w.stored)
	out := decide(p)
	for _, name := range out.remove {
		delete(w.stored, name)
	}
	for _, e := range out.put {
		w.stored[e.Name] = e
	}
	if unreadable && len(w.rules) == 2 && !maps.EqualFunc(before, w.stored, sameRecord) {
		w.t.Fatalf("an unreadable repository changes %v to %v", before, w.stored)
	}
	p.environments = nil
	for _, name := range names(w.stored) {
		p.environments = append(p.environments, w.stored[name])
	}
	if again := decide(p); len(again.put)+len(again.remove) > 0 {
		w.t.Fatalf("a repetition changes %+v and %v", again.put, again.remove)
	}
	w.check(unreadable, out)
	return out
}

func sameRecord(a, b assign.Environment) bool { return a.Until == b.Until && a.At == b.At }

// check compares the environments in force with the rules.
func (w *followWorld) check(unreadable bool, out followed) {
	used, number := map[fleet.TargetID]string{}, map[string]int{}
	for _, e := range w.stored {
		if _, hasRule := w.rules[e.Rule]; e.Removed && !unreadable && (!hasRule || !w.branches[e.Branch]) {
			w.t.Fatalf("the record of a removed environment remains: %+v", e)
		}
		if !e.InForce(w.now) {
			continue
		}
		for _, id := range e.Targets {
			if used[id] != "" {
				w.t.Fatalf("%s is in %s and in %s", id, used[id], e.Name)
			}
			used[id] = e.Name
		}
		if number[e.Rule]++; e.Rule == "" || unreadable {
			continue
		}
		r, exists := w.rules[e.Rule]
		part, matches := r.Part(e.Branch)
		if !exists || !matches || r.EnvironmentName(part) != e.Name || e.Branch == "main" || e.Name == "review-9" {
			w.t.Fatalf("no rule creates %+v", e)
		}
		if w.branches[e.Branch] != (e.Until == 0) || e.Until > w.now+r.Keep {
			w.t.Fatalf("the branch exists: %v, at %d: %+v", w.branches[e.Branch], w.now, e)
		}
	}
	for _, r := range w.rules {
		if number[r.Name] > r.Max {
			w.t.Fatalf("%s has %d environments", r.Name, number[r.Name])
		}
		waiting := map[string]bool{}
		for _, b := range out.results[r.Name].Waiting {
			waiting[b.Branch] = true
		}
		for branch := range w.branches {
			part, matches := r.Part(branch)
			e := w.stored[r.EnvironmentName(part)]
			if has := e.InForce(w.now) && e.Rule == r.Name && e.Branch == branch; matches && !unreadable && branch != "main" &&
				has == waiting[branch] {
				w.t.Fatalf("%s has an environment: %v, and waits: %v", branch, has, waiting[branch])
			}
		}
	}
}

// TestRandomBranches: each branch that matches a rule has one environment or a reason, and no target is in two.
func TestRandomBranches(t *testing.T) {
	all := []string{"main", "review/1", "review/2", "review/9", "review/A", "review/a", "review/a.b", "review/a-b",
		"review/ä", "review/x/y", "fix-1", "fix-2"}
	rapid.Check(t, func(t *rapid.T) {
		rules := map[string]records.EnvironmentRule{}
		for name, pattern := range map[string]string{"review": "review/*", "fix": "*"} {
			rules[name] = records.EnvironmentRule{Name: name, Branches: pattern, Parent: "staging", Keep: 10,
				Each: rapid.IntRange(1, 2).Draw(t, "each"), Max: rapid.IntRange(1, 3).Draw(t, "max")}
		}
		w := &followWorld{t: t, now: 1000, rules: maps.Clone(rules), stored: map[string]assign.Environment{},
			branches: map[string]bool{"main": true}, gone: map[fleet.TargetID]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"branch": func(t *rapid.T) {
				if b := rapid.SampledFrom(all).Draw(t, "branch"); w.branches[b] {
					delete(w.branches, b)
				} else {
					w.branches[b] = true
				}
				w.poll(false)
			},
			"time":       func(t *rapid.T) { w.now += rapid.Int64Range(1, 9).Draw(t, "seconds"); w.poll(false) },
			"unreadable": func(*rapid.T) { w.now++; w.poll(true) },
			"retire": func(t *rapid.T) {
				w.gone[rapid.SampledFrom(w.targets()).Draw(t, "target")] = rapid.Bool().Draw(t, "gone")
				w.poll(false)
			},
			"rule": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"review", "fix"}).Draw(t, "rule")
				if _, has := w.rules[name]; has {
					delete(w.rules, name)
				} else {
					w.rules[name] = rules[name]
				}
				w.poll(false)
			},
			"operator": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"review-1", "fix-fix-1"}).Draw(t, "environment")
				if e, has := w.stored[name]; has && e.Rule != "" {
					e.Until, e.Removed = w.now, true
					w.stored[name] = e
				}
				out := w.poll(false)
				if slices.ContainsFunc(out.put, func(e assign.Environment) bool { return e.Name == name }) &&
					w.stored[name].Removed {
					t.Fatal("a removed environment is created again")
				}
			},
		})
	})
}

// TestNamesOfEnvironments: branches with valid names never have the same name of an environment.
func TestNamesOfEnvironments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := func(what string) records.EnvironmentRule {
			r := records.EnvironmentRule{Name: rapid.StringMatching(`[a-z][a-z0-9]{0,3}`).Draw(t, what), Parent: "staging",
				Branches: rapid.SampledFrom([]string{"review/*", "*", "x-*-y"}).Draw(t, what), Select: []string{"*"}, Each: 1,
				Max: 1}
			if err := checkRule(r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		branch := rapid.StringMatching(`(review/|x-)?[ab-]{1,4}(-y)?`)
		a, b := rule("a"), rule("b")
		one, other := branch.Draw(t, "branch a"), branch.Draw(t, "branch b")
		if a.Name == b.Name {
			b = a
		}
		p, matches := a.Part(one)
		q, also := b.Part(other)
		if strings.HasSuffix(p, "-") || strings.HasSuffix(q, "-") {
			return // hyphens at the end are left out
		}
		if matches && also && a.EnvironmentName(p) == b.EnvironmentName(q) && (a.Name != b.Name || one != other) {
			t.Fatalf("%s of %s and %s of %s give %s", one, a.Name, other, b.Name, a.EnvironmentName(p))
		}
	})
}

// TestBranchesWithTheSameName: the name of an environment has no capital letters and no other signs. If two branches
// have the same name, the first one has the environment, and the other one gets it after the first one is deleted.
func TestBranchesWithTheSameName(t *testing.T) {
	r := records.EnvironmentRule{Name: "review", Branches: "review/*", Parent: "staging", Each: 1, Max: 9}
	p := polled{now: 100, rules: []records.EnvironmentRule{r}, active: map[fleet.TargetID]bool{"a": true, "b": true},
		pool: map[string][]fleet.TargetID{"review": {"a", "b"}}}
	poll := func(branches ...string) (waiting string) {
		p.branches = map[string][]string{"review": branches}
		out := decide(p)
		for _, e := range out.put {
			p.environments = slices.DeleteFunc(p.environments, func(o assign.Environment) bool { return o.Name == e.Name })
			p.environments = append(p.environments, e)
		}
		for _, w := range out.results["review"].Waiting {
			waiting += w.Branch + ": " + w.Why + "\n"
		}
		p.now++
		return waiting
	}
	has := func(want string) {
		t.Helper()
		got := ""
		for _, e := range p.environments {
			if e.InForce(p.now) {
				got += e.Name + " of " + e.Branch + "\n"
			}
		}
		if got != want {
			t.Errorf("the environments are %q, want %q", got, want)
		}
	}
	if got := poll("review/Fix_7.x", "review/fix-7-x"); !strings.Contains(got, "review/fix-7-x: the branch "+
		"review/Fix_7.x has the environment review-fix-7-x. Rename") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
	has("review-fix-7-x of review/Fix_7.x\n")
	if got := poll("review/Fix_7.x", "review/__"); !strings.Contains(got, "cannot be a part") {
		t.Error(got)
	}
	poll("review/fix-7-x") // the environment of the deleted branch ends
	if got := poll("review/fix-7-x"); got != "" {
		t.Error(got)
	}
	has("review-fix-7-x of review/fix-7-x\n")
}

// TestRulesThatAreRefused: a rule has a name without a hyphen, and a pattern with one *.
func TestRulesThatAreRefused(t *testing.T) {
	good := records.EnvironmentRule{Name: "review", Branches: "review/*", Parent: "staging", Select: []string{"st-*"},
		Each: 1,
		Max:  10, Keep: 60}
	if err := checkRule(good); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*records.EnvironmentRule){
		"name of a rule":             func(r *records.EnvironmentRule) { r.Name = "a-b" },
		"pattern":                    func(r *records.EnvironmentRule) { r.Branches = "review/*/*" },
		"users without write access": func(r *records.EnvironmentRule) { r.Branches = "refs/pull/*/head" },
		"leave out refs/heads/":      func(r *records.EnvironmentRule) { r.Branches = "refs/heads/*" },
		"one *":                      func(r *records.EnvironmentRule) { r.Branches = "--upload-pack=*" },
		"without targets":            func(r *records.EnvironmentRule) { r.Select = nil },
		"from 1 to 100":              func(r *records.EnvironmentRule) { r.Each = 0 },
		"up to 30 days":              func(r *records.EnvironmentRule) { r.Keep = -1 },
		"name of a variable":         func(r *records.EnvironmentRule) { r.Vars = map[string]string{"a b": ""} },
		"as a module":                func(r *records.EnvironmentRule) { r.Modules = []string{"../x"} },
		"as the parent":              func(r *records.EnvironmentRule) { r.Parent = "" },
	} {
		r := good
		change(&r)
		if err := checkRule(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
