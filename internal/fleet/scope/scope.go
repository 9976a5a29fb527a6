package scope

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// Verdict is the state of a scope or of a part of it.
type Verdict string

// Verdicts. The zero value means that the scope was not evaluated.
const (
	Ready   Verdict = "ready"
	Empty   Verdict = "empty"   // no members count
	Pending Verdict = "pending" // it is not ready yet, and nothing failed
	Unknown Verdict = "unknown" // results are missing
	Failed  Verdict = "failed"
)

// Verdicts returns all verdicts, the worst first.
func Verdicts() []Verdict { return []Verdict{Failed, Unknown, Pending, Empty, Ready} }

// rank is higher for worse verdicts.
func (v Verdict) rank() int {
	switch v {
	case Failed:
		return 4
	case Unknown:
		return 3
	case Pending:
		return 2
	case Empty:
		return 1
	}
	return 0
}

// Worse returns the worse one of two verdicts.
func Worse(a, b Verdict) Verdict {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Absence is the reason for which a target does not count; "" means that it counts.
type Absence string

// Reasons for which a target does not count.
const (
	NotEnrolled Absence = "not_enrolled"
	Retired     Absence = "retired"
	Revoked     Absence = "revoked"
	Suspect     Absence = "suspect"
	Frozen      Absence = "frozen"
)

// Target is the observed state of a target.
type Target struct {
	ID        fleet.TargetID // "" if it was never enrolled
	Absent    Absence
	Connected bool
	Checks    []fleet.CheckResult // sorted by scope and check
	// awaited means that its results count as successes, because they are not known yet.
	awaited bool
}

// TaskKey identifies a task of a scope.
type TaskKey struct{ Scope, Task string }

// TaskPhase is the state of a task for its declared content.
type TaskPhase string

// Phases of a task. The zero value is waiting.
const (
	TaskWaiting TaskPhase = "waiting"
	TaskClaimed TaskPhase = "claimed" // a target was chosen, and may not have begun
	TaskRunning TaskPhase = "running"
	TaskDone    TaskPhase = "done"
	TaskFailed  TaskPhase = "failed"
	TaskUnknown TaskPhase = "unknown" // the target was lost during the attempt
)

// Input contains everything that decides verdicts.
type Input struct {
	Declared query.Scopes
	// Targets are by name. A target without an entry is not enrolled.
	Targets map[string]Target
	Tasks   map[TaskKey]TaskPhase
	// Hubs have the results of the checks that the leading hub tests, by scope.
	Hubs map[string]Hub
}

// Hub contains the results of the checks of one scope that the leading hub tests.
type Hub struct {
	Name   string // of the hub that has changed a result last; "" if none has
	Checks []fleet.CheckResult
}

// Subject is the kind of the part of a scope that a reason concerns.
type Subject string

// Kinds of parts.
const (
	OfMembers Subject = "members"
	OfCheck   Subject = "check"
	OfTask    Subject = "task"
	OfScope   Subject = "scope" // a member
	OfKind    Subject = "kind"
)

// MaxShown limits the targets that a reason names.
const MaxShown = 5

// Reason is the cause of a verdict other than ready.
type Reason struct {
	Verdict Verdict
	Subject Subject
	Name    string // of the check, task, scope or kind
	Text    string
	Targets []string // names of up to MaxShown targets, for example with a failed check
}

// Result is the verdict of one scope.
type Result struct {
	Scope   string // KIND/NAME
	Verdict Verdict
	Reasons []Reason // the worst first
	// Members is the number of declared targets. Counted is the number of members that count, and Connected the number of
	// connected members that count.
	Members, Counted, Connected int
	Checks                      []Check // in the order of declaration
}

// Check is the verdict of a check. The numbers of testers include only testers that count.
type Check struct {
	Name                        string
	Hub                         bool    // the leading hub tests it
	Why                         string  // the reason of the result of the hub
	Verdict                     Verdict // ready, pending, failed or unknown
	Required                    int     // the number of testers that must succeed
	OK, Failed, Pending, Unsure int
}

// Counted is the number of testers that count.
func (c Check) Counted() int { return c.OK + c.Failed + c.Pending + c.Unsure }

// TesterState is the result of one tester of a check.
type TesterState struct {
	Name    string // of a target, or of a hub
	Hub     bool
	Absent  Absence
	Outcome fleet.CheckOutcome // "" is unknown
	Since   int64              // ns since 1970; 0 if it is unknown
	Text    string
}

// Testers returns the states of the targets that test a check, sorted by name, or of the leading hub.
func Testers(in Input, s query.Scope, c query.ScopeCheck) []TesterState {
	if c.Hub {
		hub := in.Hubs[s.ID()]
		out := TesterState{Name: hub.Name, Hub: true}
		out.result(hub.Checks, s.ID(), c, "the leading hub has not tested it yet")
		return []TesterState{out}
	}
	names := s.Targets
	if c.Outside {
		names = c.From
	}
	out := make([]TesterState, 0, len(names))
	for _, name := range names {
		out = append(out, tester(name, s.ID(), c, in.Targets))
	}
	return out
}

// tester returns the result of one target. It counts only while the target is connected.
func tester(name, scope string, c query.ScopeCheck, targets map[string]Target) TesterState {
	t, ok := targets[name]
	out := TesterState{Name: name, Absent: t.Absent}
	if !ok || t.ID == "" && t.Absent == "" {
		out.Absent = NotEnrolled
	}
	if out.Absent != "" {
		return out
	}
	if !t.Connected {
		out.Text = "the target is offline"
		return out
	}
	if t.awaited {
		out.Outcome = fleet.CheckOK
		return out
	}
	out.result(t.Checks, scope, c, "the target did not report a result yet, or its agent is older and tests no checks")
	return out
}

// result sets the result of a check from all results of a tester. none is the text without a result.
func (t *TesterState) result(all []fleet.CheckResult, scope string, c query.ScopeCheck, none string) {
	t.Text = none
	for _, r := range all {
		if r.Scope != scope || r.Check != c.Name || r.Digest != c.Digest {
			continue
		}
		switch r.Outcome {
		case fleet.CheckOK, fleet.CheckFailed, fleet.CheckPending:
			t.Outcome, t.Since, t.Text = r.Outcome, r.Since, r.Text
		case fleet.CheckUnknown:
			t.Since, t.Text = r.Since, r.Text
		default:
			t.Text = ""
		}
		return
	}
}
