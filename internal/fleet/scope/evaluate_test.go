package scope

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

const digest = "d1"

// world returns an input with the cluster search of three members, which test the check formed.
func world(quorum string, outcomes ...fleet.CheckOutcome) Input {
	in := Input{Targets: map[string]Target{}, Tasks: map[TaskKey]TaskPhase{}}
	s := query.Scope{Kind: "cluster", Name: "search",
		Checks: []query.ScopeCheck{{Name: "formed", Quorum: quorum, Digest: digest}}}
	for i, o := range outcomes {
		name := fmt.Sprint("m", i)
		s.Targets = append(s.Targets, name)
		t := Target{ID: fleet.TargetID(name), Connected: true}
		if o != "" {
			t.Checks = []fleet.CheckResult{{Scope: "cluster/search", Check: "formed", Digest: digest, Outcome: o}}
		}
		in.Targets[name] = t
	}
	in.Declared = query.Scopes{Kinds: []query.ScopeKind{{Name: "cluster", Overlap: true, Empty: "empty"}},
		Scopes: []query.Scope{s}}
	return in
}

// change changes the declared scope.
func (in Input) change(f func(*query.Scope)) Input {
	f(&in.Declared.Scopes[0])
	return in
}

func (in Input) set(name string, f func(*Target)) Input {
	t := in.Targets[name]
	f(&t)
	in.Targets[name] = t
	return in
}

const ok, failed, pending = fleet.CheckOK, fleet.CheckFailed, fleet.CheckPending

func TestVerdicts(t *testing.T) {
	minimum := func(n int) func(*query.Scope) { return func(s *query.Scope) { s.MinMembers = n } }
	offline := func(t *Target) { t.Connected = false }
	task := func(p TaskPhase) Input {
		in := world("all", ok).change(func(s *query.Scope) { s.Tasks = []query.ScopeTask{{Name: "load"}} })
		in.Tasks[TaskKey{"cluster/search", "load"}] = p
		return in
	}
	const oneOf2 = "the check formed succeeds on 1 of 2 targets, 2 are required, "
	const quorum2 = "failed: the check formed succeeds on 0 of 3 targets, 2 are required, 2 failed, 1 unknown [m0 m1]"
	const quorum3 = "failed: the check formed succeeds on 1 of 1 target, 3 are required []"
	id, self := "cluster/search", "unknown: the scope cluster/search is unknown []"
	const noTester, noKind = "unknown: no target that counts tests the check formed []",
		"unknown: the repository does not declare the kind x []"
	nested := func(id string) Input {
		return world("all", ok).change(func(s *query.Scope) { s.Scopes = []string{id} })
	}
	retired := func(t *Target) { t.Absent = Retired }
	frozen := func(t *Target) { t.Absent = Frozen }
	other := func(s *query.Scope) { s.Checks[0].Digest = "d2" }
	from := func(s *query.Scope) { s.Checks[0].From, s.Checks[0].Outside = []string{"x"}, true }
	kind := func(s *query.Scope) { s.Kind = "x" }
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"all succeed":           {world("all", ok, ok), "ready"},
		"one failed":            {world("all", ok, failed), "failed: " + oneOf2 + "1 failed [m1]"},
		"one pending":           {world("all", ok, pending), "pending: " + oneOf2 + "1 pending [m1]"},
		"one without a result":  {world("all", ok, ""), "unknown: " + oneOf2 + "1 unknown [m1]"},
		"quorum reached":        {world("1", ok, failed, ""), "ready"},
		"quorum possible":       {world("2", ok, failed, pending, ""), "pending"},
		"quorum impossible":     {world("2", failed, failed, ""), quorum2},
		"too few targets":       {world("3", ok), quorum3},
		"half":                  {world("50%", ok, failed, failed), "failed"},
		"rounded up":            {world("50%", ok, ok, failed), "ready"},
		"odd outcome":           {world("all", "maybe"), "unknown"},
		"offline":               {world("all", ok, ok).set("m1", offline), "unknown"},
		"frozen does not count": {world("all", ok, failed).set("m1", frozen), "ready"},
		"another digest":        {world("all", ok).change(other), "unknown"},
		"too few enrolled":      {world("all", ok).change(minimum(2)), "pending: 1 of at least 2 members counts []"},
		"too few connected": {world("1", ok, ok).set("m1", offline).change(minimum(2)),
			"failed: 1 of at least 2 members is connected [m1]"},
		"no members":                {world("all"), "empty: the scope selects no targets []"},
		"no member counts":          {world("all", ok).set("m0", retired), "empty: none of the 1 member counts []"},
		"no testers":                {world("all", ok).change(from), noTester},
		"task waits":                {task(""), "pending: the task load waits []"},
		"task runs":                 {task(TaskRunning), "pending: the task load is not finished []"},
		"task done":                 {task(TaskDone), "ready"},
		"task failed":               {task(TaskFailed), "failed: the task load failed []"},
		"task unknown":              {task(TaskUnknown), "failed: the result of the task load is unknown []"},
		"unknown kind":              {world("all", ok).change(kind), noKind},
		"contains itself":           {nested(id), self},
		"contains an unknown scope": {nested("cluster/x"), "unknown: the scope cluster/x is unknown []"},
	} {
		r := Evaluate(c.in)[0]
		got := string(r.Verdict)
		if len(r.Reasons) > 0 && strings.Contains(c.want, ":") {
			got += fmt.Sprintf(": %s %v", r.Reasons[0].Text, r.Reasons[0].Targets)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
		if (r.Verdict == Ready) != (len(r.Reasons) == 0) {
			t.Errorf("%s: the verdict %s has the reasons %v", name, r.Verdict, r.Reasons)
		}
	}
}

// TestFailedIfEmpty: a kind can make empty scopes failed.
func TestFailedIfEmpty(t *testing.T) {
	in := world("all")
	in.Declared.Kinds[0].Empty = "failed"
	if r := Evaluate(in)[0]; r.Verdict != Failed {
		t.Errorf("%+v", r)
	}
}

// TestNestedScopes: a scope of scopes has the worst verdict of its members, and empty ones do not count.
func TestNestedScopes(t *testing.T) {
	for name, c := range map[string]struct {
		outcomes []fleet.CheckOutcome
		want     Verdict
	}{
		"ready":  {[]fleet.CheckOutcome{ok}, Ready},
		"failed": {[]fleet.CheckOutcome{failed}, Failed},
		"empty":  {nil, Empty},
	} {
		in := world("all", c.outcomes...)
		in.Declared.Scopes = append([]query.Scope{{Kind: "cluster", Name: "outer", Scopes: []string{"cluster/search"}}},
			in.Declared.Scopes...)
		if r := Evaluate(in)[0]; r.Verdict != c.want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestOverlap: a kind can forbid that a target is in two of its scopes.
func TestOverlap(t *testing.T) {
	in := world("all", ok)
	in.Declared.Kinds[0].Overlap = false
	in.Declared.Scopes = append(in.Declared.Scopes, query.Scope{Kind: "cluster", Name: "other", Targets: []string{"m0"}})
	for i, other := range []string{"cluster/other", "cluster/search"} {
		r := Evaluate(in)[i]
		if r.Verdict != Failed || !strings.Contains(r.Reasons[0].Text, "m0 belongs to "+other+" too") {
			t.Errorf("%+v", r)
		}
	}
	in.set("m0", func(t *Target) { t.Absent = Retired })
	if r := Evaluate(in)[0]; r.Verdict != Empty {
		t.Errorf("a retired target overlaps: %+v", r)
	}
}

// TestCheckOfHub: a check that the leading hub tests has its stored result, for the declared content.
func TestCheckOfHub(t *testing.T) {
	const unknownCheck = "the result of the check formed of the leading hub is unknown: "
	for name, c := range map[string]struct {
		result *fleet.CheckResult
		want   string
	}{
		"ready": {&fleet.CheckResult{Outcome: ok}, "ready hub1 ok"},
		"failed": {&fleet.CheckResult{Outcome: failed, Text: "refused"},
			"failed hub1 failed: the check formed fails on the leading hub: refused"},
		"pending": {&fleet.CheckResult{Outcome: pending},
			"pending hub1 pending: the check formed has not succeeded on the leading hub yet"},
		"untested": {&fleet.CheckResult{Outcome: fleet.CheckUnknown, Text: "not allowed"},
			"unknown hub1 : " + unknownCheck + "not allowed"},
		"other content": {&fleet.CheckResult{Outcome: ok, Digest: "d2"},
			"unknown hub1 : " + unknownCheck + "the leading hub has not tested it yet"},
		"no result": {nil,
			"unknown  : " + unknownCheck + "the leading hub has not tested it yet"},
	} {
		in := world("all").change(func(s *query.Scope) { s.Checks[0].Hub = true })
		in.Declared.Kinds[0].Executor = "hub"
		if c.result != nil {
			c.result.Scope, c.result.Check, c.result.Digest = "cluster/search", "formed", cmp.Or(c.result.Digest, digest)
			in.Hubs = map[string]Hub{"cluster/search": {Name: "hub1", Checks: []fleet.CheckResult{*c.result}}}
		}
		r, x := Evaluate(in)[0], Testers(in, in.Declared.Scopes[0], in.Declared.Scopes[0].Checks[0])[0]
		got := fmt.Sprintf("%s %s %s", r.Verdict, x.Name, x.Outcome)
		if len(r.Reasons) > 0 {
			got += ": " + r.Reasons[0].Text
		}
		if got != c.want || !x.Hub || len(r.Reasons) > 0 && r.Reasons[0].Targets != nil {
			t.Errorf("%s: got %q, want %q; %+v", name, got, c.want, r.Reasons)
		}
		if best := Best(in)[0]; best.Verdict != r.Verdict {
			t.Errorf("%s: the verdict depends on targets that are not connected: %s", name, best.Verdict)
		}
	}
}

// TestTesters: a user sees the result of each tester, and why it does not count.
func TestTesters(t *testing.T) {
	in := world("all", ok, failed, "", ok)
	in.set("m3", func(t *Target) { t.Connected = false })
	in.change(func(s *query.Scope) { s.Checks[0].From, s.Checks[0].Outside = append(s.Targets, "x"), true })
	s := in.Declared.Scopes[0]
	want := "m0//ok/ m1//failed/ m2///the target did not report a result yet, or " +
		"its agent is older and tests no checks m3///the target is offline x/not_enrolled//"
	var got []string
	for _, x := range Testers(in, s, s.Checks[0]) {
		got = append(got, fmt.Sprintf("%s/%s/%s/%s", x.Name, x.Absent, x.Outcome, x.Text))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("%v", got)
	}
}

// TestBest: the verdict without the targets that are not connected.
func TestBest(t *testing.T) {
	away := func(t *Target) { t.Connected = false }
	tasks := func(s *query.Scope) { s.Tasks = []query.ScopeTask{{Name: "load"}} }
	task := world("all", ok).set("m0", away).change(tasks)
	task.Tasks[TaskKey{"cluster/search", "load"}] = TaskFailed
	for name, c := range map[string]struct {
		in   Input
		want Verdict
	}{
		"offline":          {world("all", ok, failed).set("m1", away), Ready},
		"failed":           {world("all", ok, failed), Failed},
		"failed, offline":  {world("all", failed, ok).set("m1", away), Failed},
		"no result":        {world("all", ok, ""), Unknown},
		"too few":          {world("all", ok).set("m0", away).change(func(s *query.Scope) { s.MinMembers = 2 }), Pending},
		"too few, offline": {world("all", ok).set("m0", away).change(func(s *query.Scope) { s.MinMembers = 1 }), Ready},
		"failed task":      {task, Failed},
		"retired":          {world("all", ok).set("m0", func(t *Target) { t.Absent = Retired }).set("m0", away), Empty},
	} {
		before := fmt.Sprint(c.in)
		if r := Best(c.in)[0]; r.Verdict != c.want {
			t.Errorf("%s: got %+v, want %s", name, r, c.want)
		}
		if fmt.Sprint(c.in) != before {
			t.Errorf("%s: Best changes its input", name)
		}
	}
}

// TestAgreesWithJudge compares random worlds with a judge that tries all completions of the unknown results.
func TestAgreesWithJudge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]fleet.CheckOutcome{"", ok, failed, pending}), 0, 5).Draw(t, "outcomes")
		quorum := rapid.SampledFrom([]string{"all", "1", "2", "3", "50%", "67%", "100%"}).Draw(t, "quorum")
		in := world(quorum, outcomes...)
		least := rapid.IntRange(0, 4).Draw(t, "minimum")
		in.change(func(s *query.Scope) { s.MinMembers = least })
		results, connected := []fleet.CheckOutcome{}, 0
		for i := range outcomes {
			name := fmt.Sprint("m", i)
			switch rapid.IntRange(0, 9).Draw(t, "state") {
			case 0:
				in.set(name, func(t *Target) { t.Absent = Frozen })
			case 1:
				in.set(name, func(t *Target) { t.Connected = false })
				results = append(results, "")
			default:
				results = append(results, outcomes[i])
				connected++
			}
		}
		phases := []TaskPhase{"", TaskWaiting, TaskClaimed, TaskRunning, TaskDone, TaskFailed, TaskUnknown}
		phase := rapid.SampledFrom(phases).Draw(t, "task")
		if rapid.Bool().Draw(t, "has a task") {
			in.change(func(s *query.Scope) { s.Tasks = []query.ScopeTask{{Name: "load"}} })
			in.Tasks[TaskKey{"cluster/search", "load"}] = phase
		} else {
			phase = TaskDone
		}
		want := judge(quorum, least, connected, results, phase)
		if got := Evaluate(in)[0]; got.Verdict != want {
			t.Fatalf("the verdict is %+v, and the judge says %s", got, want)
		}
	})
}

// judge returns the verdict, without code of the package.
func judge(quorum string, least, connected int, results []fleet.CheckOutcome, phase TaskPhase) Verdict {
	if len(results) == 0 {
		return Empty
	}
	all := map[Verdict]bool{}
	switch {
	case len(results) < least:
		all[Pending] = true
	case connected < least:
		all[Failed] = true
	}
	switch phase {
	case TaskFailed, TaskUnknown:
		all[Failed] = true
	case TaskDone:
	default:
		all[Pending] = true
	}
	all[judgeCheck(quorum, results)] = true
	for _, v := range []Verdict{Failed, Unknown, Pending} {
		if all[v] {
			return v
		}
	}
	return Ready
}

// judgeCheck completes the results in all ways: with successes of undecided results, and only of pending ones.
func judgeCheck(quorum string, results []fleet.CheckOutcome) Verdict {
	succeeds := func(with ...fleet.CheckOutcome) bool {
		n := 0
		for _, r := range results {
			for _, w := range with {
				if r == w {
					n++
				}
			}
		}
		switch quorum {
		case "all", "100%":
			return n == len(results)
		case "50%":
			return 2*n >= len(results)
		case "67%":
			return 100*n >= 67*len(results)
		}
		return n >= map[string]int{"1": 1, "2": 2, "3": 3}[quorum]
	}
	switch {
	case succeeds(ok):
		return Ready
	case !succeeds(ok, pending, ""):
		return Failed
	case succeeds(ok, pending):
		return Pending
	}
	return Unknown
}

// BenchmarkEvaluate evaluates 200 clusters of 50 targets.
func BenchmarkEvaluate(b *testing.B) {
	in := Input{Targets: map[string]Target{}, Declared: query.Scopes{
		Kinds: []query.ScopeKind{{Name: "cluster", Overlap: true}}}}
	for i := range 200 {
		s := query.Scope{Kind: "cluster", Name: fmt.Sprint("c", i), MinMembers: 3,
			Checks: []query.ScopeCheck{{Name: "formed", Quorum: "all", Digest: digest}}}
		for j := range 50 {
			name := fmt.Sprintf("t%05d", 50*i+j)
			s.Targets = append(s.Targets, name)
			in.Targets[name] = Target{ID: fleet.TargetID(name), Connected: true, Checks: []fleet.CheckResult{
				{Scope: s.ID(), Check: "formed", Digest: digest, Outcome: fleet.CheckOK}}}
		}
		in.Declared.Scopes = append(in.Declared.Scopes, s)
	}
	for b.Loop() {
		if r := Evaluate(in); r[199].Verdict != Ready {
			b.Fatal(r[199])
		}
	}
}
