package rollout

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestGatePasses: a gate passes with enough passes, of which the last verdict is one, and within its limits.
func TestGatePasses(t *testing.T) {
	metric := Gate{Type: MetricGate, Count: 2, FailureLimit: 1, ErrorLimit: 1}
	approval := Gate{Type: ApprovalGate}
	two := []Approval{{By: "ann"}, {By: "bob"}}
	for name, c := range map[string]struct {
		gate Gate
		s    GateState
		want bool
	}{
		"enough passes":    {metric, GateState{Passes: 2, Last: Pass}, true},
		"more passes":      {metric, GateState{Passes: 3, Failures: 1, Last: Pass}, true},
		"one pass":         {metric, GateState{Passes: 1, Last: Pass}, false},
		"the last fails":   {metric, GateState{Passes: 2, Failures: 1, Last: Fail}, false},
		"too many fail":    {metric, GateState{Passes: 2, Failures: 2, Last: Pass}, false},
		"enough users":     {approval, GateState{Approvals: two}, true},
		"a user is absent": {approval, GateState{Approvals: two[:1]}, false},
		"a user rejects":   {approval, GateState{Approvals: two, Rejected: "eve"}, false},
	} {
		if c.gate.Passed(c.s, 2) != c.want {
			t.Errorf("%s: it passes: %t", name, !c.want)
		}
		if failed := c.gate.Failed(c.s); failed != (name == "too many fail" || name == "a user rejects") {
			t.Errorf("%s: it fails: %t", name, failed)
		}
	}
	for errors, want := range map[int]bool{0: false, 1: false, 2: true} {
		if metric.unclear(GateState{Errors: errors}) != want {
			t.Errorf("%d errors are too many: %t", errors, !want)
		}
	}
}

// TestGateIsQueried: the hub queries a gate after its delay and at its interval, and a webhook only until its verdict.
func TestGateIsQueried(t *testing.T) {
	metric := Gate{Type: MetricGate, URL: "http://metrics", InitialDelay: 60, Interval: 30}
	hook := Gate{Type: WebhookGate, URL: "http://hook"}
	for name, c := range map[string]struct {
		gate Gate
		s    GateState
		now  int64
		want bool
	}{
		"before its delay":       {metric, GateState{}, 159, false},
		"after its delay":        {metric, GateState{}, 160, true},
		"before its interval":    {metric, GateState{At: 160, Last: Pass}, 189, false},
		"after its interval":     {metric, GateState{At: 160, Last: Pass}, 190, true},
		"without an address":     {Gate{Type: MetricGate}, GateState{}, 190, false},
		"an approval":            {Gate{Type: ApprovalGate, URL: "http://hook"}, GateState{}, 190, false},
		"a webhook":              {hook, GateState{}, 100, true},
		"a webhook that waits":   {hook, GateState{At: 100, Last: Later}, 190, false},
		"a webhook that passed":  {hook, GateState{At: 100, Last: Pass}, 190, false},
		"a webhook with errors":  {hook, GateState{At: 100, Last: Unclear}, 190, true},
		"a webhook that failed":  {hook, GateState{At: 100, Last: Fail}, 190, true},
		"since the first second": {Gate{URL: "http://metrics", Interval: 30}, GateState{At: 1}, 2, false},
		"a metric without value": {metric, GateState{At: 100, Last: Later}, 190, true},
	} {
		if c.gate.due(c.s, min(100, c.now), c.now) != c.want {
			t.Errorf("%s: it is queried: %t", name, !c.want)
		}
	}
	if !(Gate{URL: "http://metrics", Interval: 30}).due(GateState{}, 1, 2) {
		t.Error("the first query waits for an interval")
	}
}

// TestGateTimeout: without its own limit, a gate has the timeout of the wave after the first moment at which it can
// end.
func TestGateTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		gate             Gate
		limit, bake, end int64
	}{
		"its own":            {Gate{Timeout: 7, Interval: 3, Count: 4}, 100, 10, 7},
		"its own alone":      {Gate{Timeout: 7}, 0, 10, 7},
		"none":               {Gate{}, 0, 10, 0},
		"after the bake":     {Gate{}, 100, 10, 110},
		"after its verdicts": {Gate{InitialDelay: 5, Interval: 3, Count: 4}, 100, 10, 114},
		"after one verdict":  {Gate{InitialDelay: 5, Interval: 3, Count: 1}, 100, 0, 105},
		"a short limit":      {Gate{}, 1, 10, 11},
		"without a count":    {Gate{InitialDelay: 5, Interval: 3}, 100, 0, 105},
	} {
		r := &Rollout{Plan: Plan{Strategy: Strategy{WaveTimeout: c.limit}, Waves: []Wave{{Bake: c.bake}}}}
		if got := r.Timeout(0, c.gate); got != c.end {
			t.Errorf("%s: %d s, want %d", name, got, c.end)
		}
	}
}

// TestGateDeadline: the time of a gate begins with the bake time, and again after some events.
func TestGateDeadline(t *testing.T) {
	g := Gate{Name: "hook", Type: WebhookGate, Count: 1, Timeout: 60}
	compare := Gate{Name: "hook", Type: CompareGate, Count: 1, Timeout: 60}
	for name, c := range map[string]struct {
		gate   Gate
		change func(r *Rollout, s *GateState)
		up     int64
		want   int64
	}{
		"the bake time":      {g, func(*Rollout, *GateState) {}, 0, 61},
		"a resumption":       {g, func(r *Rollout, _ *GateState) { r.resumed = 5 }, 4, 65},
		"a gate that lapsed": {g, func(_ *Rollout, s *GateState) { s.Lapsed = 7 }, 4, 67},
		"another hub":        {g, func(r *Rollout, _ *GateState) { r.resumed = 5 }, 9, 69},
		"before":             {g, func(r *Rollout, _ *GateState) { r.Settled = 0 }, 9, 0},
		"a pause":            {g, func(r *Rollout, _ *GateState) { r.Phase = OnHold }, 9, 0},
		"a pass":             {g, func(_ *Rollout, s *GateState) { s.Passes, s.Last = 1, Pass }, 9, 0},
		"a dry run":          {Gate{Name: "hook", Count: 1, Timeout: 60, DryRun: true}, func(*Rollout, *GateState) {}, 9, 0},
		"no limit":           {Gate{Name: "hook", Count: 1}, func(*Rollout, *GateState) {}, 9, 0},
		"nothing to compare": {compare, func(*Rollout, *GateState) {}, 9, 0},
	} {
		s := &GateState{}
		r := &Rollout{Phase: Active, Settled: 1, Plan: Plan{Waves: []Wave{{Gates: []Gate{c.gate}}}},
			Verdicts: map[int]map[string]*GateState{0: {"hook": s}}}
		c.change(r, s)
		if got := r.Deadline(c.gate, c.up); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestRepeatedVerdicts: a verdict need not be stored if nothing is different.
func TestRepeatedVerdicts(t *testing.T) {
	few := Due{State: GateState{Last: None, Why: "few"}}
	for name, c := range map[string]struct {
		due     Due
		verdict Verdict
		why     string
		want    bool
	}{
		"few values again":       {few, None, "few", true},
		"for another reason":     {few, None, "fewer", false},
		"another verdict":        {few, Fail, "few", false},
		"after another verdict":  {Due{State: GateState{Last: Fail, Why: "few"}}, None, "few", false},
		"a pass after it passed": {Due{Passed: true}, Pass, "", true},
		"a pass before":          {Due{}, Pass, "", false},
		"a failure after it":     {Due{Passed: true}, Fail, "", false},
	} {
		if c.due.Repeats(c.verdict, c.why) != c.want {
			t.Errorf("%s: it repeats: %t", name, !c.want)
		}
	}
}

// TestEventsOfAGate: each event of a gate changes its state.
func TestEventsOfAGate(t *testing.T) {
	measured := func(v Verdict) Event { return Event{Kind: Measured, At: 7, Verdict: v, Why: "the value"} }
	before := GateState{Passes: 1, Failures: 1, Errors: 1, Approvals: []Approval{{"ann", 1}, {"bob", 2}}}
	for name, c := range map[string]struct {
		e      Event
		change func(s *GateState)
	}{
		"approved": {Event{Kind: Approved, By: "eve", At: 7},
			func(s *GateState) { s.Approvals = []Approval{{"ann", 1}, {"bob", 2}, {"eve", 7}} }},
		"approved again": {Event{Kind: Approved, By: "ann", At: 7},
			func(s *GateState) { s.Approvals = []Approval{{"bob", 2}, {"ann", 7}} }},
		"expired":  {Event{Kind: Expired, By: "ann"}, func(s *GateState) { s.Approvals = []Approval{{"bob", 2}} }},
		"rejected": {Event{Kind: Rejected, By: "ann", Why: "bad"}, func(s *GateState) { s.Rejected, s.Why = "ann", "bad" }},
		"late":     {Event{Kind: Paused, Why: "late"}, func(s *GateState) { s.Late = true }},
		"pass":     {measured(Pass), func(s *GateState) { s.Passes, s.Errors, s.Last = 2, 0, Pass }},
		"fail":     {measured(Fail), func(s *GateState) { s.Failures, s.Errors, s.Last = 2, 0, Fail }},
		"error":    {measured(Unclear), func(s *GateState) { s.Errors, s.Last = 2, Unclear }},
		"none":     {measured(None), func(s *GateState) { s.Errors, s.Last = 0, None }},
		"later":    {measured(Later), func(s *GateState) { s.Last = Later }},
	} {
		got, want := before, before
		if c.change(&want); c.e.Kind == Measured {
			want.At, want.Why = 7, "the value"
		}
		if got.fold(c.e); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestVerdictsBelongToABakeTime: events of another gate, wave or bake time do not count.
func TestVerdictsBelongToABakeTime(t *testing.T) {
	g := Gate{Name: "hook", Type: WebhookGate, Count: 1}
	for name, c := range map[string]struct {
		e    Event
		want bool
	}{
		"of this one":          {Event{Gate: "hook", Wave: 1, Period: 3}, true},
		"of another gate":      {Event{Gate: "other", Wave: 1, Period: 3}, false},
		"of another wave":      {Event{Gate: "hook", Wave: 0, Period: 3}, false},
		"of another bake time": {Event{Gate: "hook", Wave: 1, Period: 2}, false},
	} {
		r := &Rollout{Wave: 1, Period: 3, Plan: Plan{Waves: []Wave{{Gates: []Gate{g}}, {Gates: []Gate{g}}}}}
		c.e.Kind, c.e.Verdict = Measured, Pass
		r.verdict(c.e)
		if got := r.GateState(1, "hook").Passes == 1; got != c.want ||
			r.GateState(0, "hook").Passes+r.GateState(1, "other").Passes > 0 {
			t.Errorf("%s: it counts: %t", name, got)
		}
	}
}

// TestLapsedGate: the time at which a gate no longer passes is recorded, once.
func TestLapsedGate(t *testing.T) {
	r := &Rollout{Plan: Plan{Waves: []Wave{{Gates: []Gate{{Name: "hook", Type: MetricGate, Count: 1, FailureLimit: 9}}}}}}
	for at, v := range []Verdict{Fail, Pass, Pass, Fail, Fail} {
		r.verdict(Event{Kind: Measured, Gate: "hook", Verdict: v, At: int64(at)})
	}
	if got := r.GateState(0, "hook"); got.Lapsed != 3 {
		t.Errorf("%+v", got)
	}
}

// TestTextsOfGates: a rollout names what each kind of gate waits for.
func TestTextsOfGates(t *testing.T) {
	for _, c := range []struct {
		want string
		gate Gate
		s    GateState
	}{
		{"the approval of 2 of 2 users (board)", Gate{Type: ApprovalGate, Need: 2}, GateState{}},
		{"the approval of 1 of 2 users (board: ann)", Gate{Type: ApprovalGate, Need: 2, Users: []string{"ann"}},
			GateState{Approvals: []Approval{{}}}},
		{"the approval of 1 of 1 users (board: members of dba)", Gate{Type: ApprovalGate, Need: 1, Groups: []string{"dba"}},
			GateState{}},
		{"2 of 3 good values of the metric board: it is 7", Gate{Type: MetricGate, Count: 3},
			GateState{Passes: 1, Why: "it is 7"}},
		{"0 of 3 good values of the metric board", Gate{Type: MetricGate, Count: 3}, GateState{Passes: 4}},
		{"1 of 3 good comparisons of board", Gate{Type: CompareGate, Count: 3}, GateState{Passes: 2}},
		{"0 of 1 good comparisons of board: few", Gate{Type: CompareGate, Count: 1}, GateState{Passes: 2, Why: "few"}},
		{"the verdict of board: it is slow", Gate{Type: WebhookGate, Count: 1}, GateState{Why: "it is slow"}},
	} {
		c.gate.Name = "board"
		r := &Rollout{Verdicts: map[int]map[string]*GateState{0: {"board": &c.s}}}
		if got := r.waitsFor(c.gate); got != "waits for "+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestUnapproved: only gates of the bake time that lack users wait for users.
func TestUnapproved(t *testing.T) {
	gates := []Gate{{Name: "board", Type: ApprovalGate, Need: 1},
		{Name: "trial", Type: ApprovalGate, Need: 1, DryRun: true},
		{Name: "hook", Type: WebhookGate, Count: 1}, {Name: "done", Type: ApprovalGate, Need: 1}}
	r := &Rollout{Phase: Active, Plan: Plan{Waves: []Wave{{Gates: gates}}}, Verdicts: map[int]map[string]*GateState{
		0: {"done": {Approvals: []Approval{{By: "ann"}}}}}}
	for settled, want := range map[int64]string{0: "", 1: "board"} {
		r.Settled = settled
		if got := strings.Join(r.Unapproved(), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGateOfACommand: a command names a gate, or the wave has only one that the command can be about.
func TestGateOfACommand(t *testing.T) {
	board, other := Gate{Name: "board", Type: ApprovalGate}, Gate{Name: "other", Type: ApprovalGate}
	hook, metric := Gate{Name: "hook", Type: WebhookGate}, Gate{Name: "metric", Type: MetricGate}
	for name, c := range map[string]struct {
		gates   []Gate
		command Command
		want    string // the gate, or a part of the error
	}{
		"the only one":             {[]Gate{board}, Command{Action: ToApprove}, "board"},
		"the only approval":        {[]Gate{hook, board, metric}, Command{Action: ToReject}, "board"},
		"the only webhook":         {[]Gate{hook, board, metric}, Command{Action: ToJudge}, "hook"},
		"by name":                  {[]Gate{board, other}, Command{Action: ToApprove, Gate: "other"}, "other"},
		"a metric of the hub":      {[]Gate{hook, metric}, Command{Action: ToJudge, Gate: "metric", Period: 1}, "metric"},
		"a metric of others":       {[]Gate{hook, metric}, Command{Action: ToJudge, Gate: "metric"}, "programs judge"},
		"several":                  {[]Gate{board, other}, Command{Action: ToApprove}, "name one of board, other"},
		"none":                     {nil, Command{Action: ToApprove}, "has no gates"},
		"unknown":                  {[]Gate{board}, Command{Action: ToApprove, Gate: "x"}, `has no gate "x", but board`},
		"an approval of a hook":    {[]Gate{hook}, Command{Action: ToApprove, Gate: "hook"}, "users approve"},
		"a verdict of a board":     {[]Gate{board}, Command{Action: ToJudge, Gate: "board", Period: 1}, "users approve"},
		"an approval, no gate":     {[]Gate{hook}, Command{Action: ToApprove}, "users approve"},
		"a verdict without a gate": {[]Gate{metric}, Command{Action: ToJudge}, "has the gates metric"},
	} {
		r := &Rollout{Plan: Plan{Waves: []Wave{{Name: "first", Gates: c.gates}}}}
		g, err := r.choose(c.command)
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && g.Name != c.want {
			t.Errorf("%s: %s, %v", name, g.Name, err)
		}
	}
}

// TestNamesOfAuthors: a user can have the name of an author of git, the mail address, or its part before the @.
func TestNamesOfAuthors(t *testing.T) {
	for git, want := range map[string]string{
		"Ann <a@example.org>": "Ann|a@example.org|a", "a <a>": "a", "<a@b>": "a@b|a", "Ann": "Ann", "": "", " <>": "",
		"Ann <a@b": "Ann|a@b|a",
	} {
		if got := strings.Join(AuthorNames(git), "|"); got != want {
			t.Errorf("%q: %q, want %q", git, got, want)
		}
	}
	for name, want := range map[string]bool{"ann": true, "A": true, "a@example.org": true, "eve": false, "": false} {
		if (Plan{Git: "Ann <a@example.org>"}).wrote(name) != want {
			t.Errorf("%q is the author: %t", name, !want)
		}
	}
	if p := (Plan{Author: "kim", Git: "Ann <a@example.org>"}); !p.wrote("kim") || !p.wrote("ann") || (Plan{}).wrote("") {
		t.Error("the user of the hub is not the author")
	}
}

// TestGatesOfPhases: users and programs judge gates while the rollout is active or paused.
func TestGatesOfPhases(t *testing.T) {
	for phase, want := range map[Phase]bool{Active: true, OnHold: true, RollingBack: false, Completed: false,
		WithExceptions: false, Aborted: false, RolledBack: false, Superseded: false} {
		r := &Rollout{Phase: phase, Plan: Plan{Waves: []Wave{{Gates: []Gate{{Name: "board", Type: ApprovalGate}}}}}}
		if _, err := r.orderGate(Command{Action: ToReject, By: "ann"}); (err == nil) != want {
			t.Errorf("%s: %v", phase, err)
		}
	}
}

// TestVerdictOfAnEarlierBakeTime: the verdict that the hub obtained for an earlier bake time does not count.
func TestVerdictOfAnEarlierBakeTime(t *testing.T) {
	for period, want := range map[int]bool{0: true, 1: false, 2: true, 3: false} {
		r := &Rollout{Settled: 1, Period: 2}
		if err := r.mayJudge(Command{Verdict: Pass, Period: period}); (err == nil) != want {
			t.Errorf("of the bake time %d: %v", period, err)
		}
	}
}

// TestApprovers: the users and the groups of a gate have a voice, or all users if the gate names none.
func TestApprovers(t *testing.T) {
	for name, c := range map[string]struct {
		gate    Gate
		command Command
		refused string
	}{
		"any user":      {Gate{}, Command{By: "ann"}, ""},
		"no user":       {Gate{}, Command{}, "accepts only users of the hub"},
		"a user":        {Gate{Users: []string{"ann"}}, Command{By: "ann"}, ""},
		"another user":  {Gate{Users: []string{"ann"}}, Command{By: "bob"}, "accepts only ann"},
		"a member":      {Gate{Groups: []string{"dba"}}, Command{By: "bob", Groups: []string{"sre", "dba"}}, ""},
		"of no group":   {Gate{Groups: []string{"dba"}}, Command{By: "bob"}, "accepts only members of dba"},
		"without names": {Gate{Groups: []string{"dba"}}, Command{Groups: []string{"dba"}}, "accepts only members of dba"},
		"of both kinds": {Gate{Users: []string{"ann"}, Groups: []string{"dba"}}, Command{By: "eve"}, "ann, members of dba"},
	} {
		err := mayApprove(c.gate, c.command)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGatesThatAreDue: the hub queries the gates of the bake time of active rollouts, and gets the sides of a
// comparison.
func TestGatesThatAreDue(t *testing.T) {
	compare := Gate{Name: "c", Type: CompareGate, URL: "http://c"}
	metric := Gate{Name: "m", Type: MetricGate, URL: "http://m"}
	for name, c := range map[string]struct {
		log     []Event
		members []ID // of the second wave
		want    string
	}{
		"the bake time":      {[]Event{{Kind: Settled}}, []ID{"b"}, "c [a] [b]m [] []"},
		"nothing to compare": {[]Event{{Kind: Settled}}, nil, "m [] []"},
		"before":             {nil, []ID{"b"}, ""},
		"a pause":            {[]Event{{Kind: Settled}, {Kind: Paused}}, []ID{"b"}, ""},
	} {
		s := NewState()
		for _, e := range append([]Event{{Kind: Created, Created: &Plan{Lane: "main",
			Waves: []Wave{{Members: []ID{"a"}, Gates: []Gate{compare, metric}}, {Members: c.members}}}},
			{Kind: Granted, Target: "a"}, {Kind: Ready, Target: "a"}}, c.log...) {
			e.Rollout, e.At = "r1", 1
			s.Fold(e)
		}
		got := ""
		for _, d := range s.Due(1) {
			got += fmt.Sprint(d.Gate.Name, " ", d.With, " ", d.Without)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
