package document

import "fettle.dev/fettle/internal/fleet"

// The formats of documents about scopes.
const (
	ScopePageFormat    = "fettle.fleet.scopes/1"
	ScopeDetailFormat  = "fettle.fleet.scope/1"
	ScopeHistoryFormat = "fettle.fleet.scope-history/1"
	TaskPageFormat     = "fettle.fleet.tasks/1"
)

// Verdict is the state of a scope, or of a part of it.
type Verdict string

// Verdicts, the worst first.
const (
	VerdictFailed  Verdict = "failed"
	VerdictUnknown Verdict = "unknown" // results are missing
	VerdictPending Verdict = "pending" // it is not ready yet, and nothing failed
	VerdictEmpty   Verdict = "empty"   // no members count
	VerdictReady   Verdict = "ready"
)

// Verdicts returns all verdicts, the worst first.
func Verdicts() []Verdict {
	return []Verdict{VerdictFailed, VerdictUnknown, VerdictPending, VerdictEmpty, VerdictReady}
}

// ScopePage is a page of the requested scopes.
type ScopePage struct {
	Format string  `json:"format"`
	Total  int     `json:"total"` // matching scopes on all pages
	Scopes []Scope `json:"scopes"`
	// Cursor requests the scopes after this page; "" means that this is the last page.
	Cursor string `json:"cursor,omitempty"`
	// Verdicts are the numbers of the selected scopes, also of scopes with other verdicts than requested. Kinds are the
	// kinds of all scopes, sorted.
	Verdicts map[Verdict]int `json:"verdicts"`
	Kinds    []string        `json:"kinds"`
}

// Scope is one scope, such as a cluster, in a list. Times are in ns since 1970.
type Scope struct {
	ID          string  `json:"id"` // KIND/NAME
	Kind        string  `json:"kind"`
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Verdict     Verdict `json:"verdict"`
	// Since is the time of the verdict; 0 means that the leading hub has not stored it yet.
	Since int64 `json:"since,omitempty"`
	// Reasons are the causes of a verdict other than ready, the worst first.
	Reasons []ScopeReason `json:"reasons"`
	// Members is the number of declared targets. Counted is the number of members that count, and Connected the number of
	// connected members that count.
	Members    int `json:"members"`
	Counted    int `json:"counted"`
	Connected  int `json:"connected"`
	MinMembers int `json:"min_members,omitempty"`
	// Executor is "hub" if hubs do the tasks. Then the scope has no members. Otherwise it is "".
	Executor string `json:"executor,omitempty"`
	// Parent is the name of the parent of an environment, and Domain its public name. Otherwise they are "".
	Parent string   `json:"parent,omitempty"`
	Domain string   `json:"domain,omitempty"`
	Scopes []string `json:"scopes,omitempty"` // that are members
}

// ScopeReason is the cause of a verdict.
type ScopeReason struct {
	Verdict Verdict  `json:"verdict"`
	Subject string   `json:"subject"`        // members, check, task, scope or kind
	Name    string   `json:"name,omitempty"` // of the check, task, scope or kind
	Text    string   `json:"text"`
	Targets []string `json:"targets,omitempty"` // names of some targets that explain it
}

// ScopeDetail has all data about one scope.
type ScopeDetail struct {
	Format string `json:"format"`
	Scope  Scope  `json:"scope"`
	Source string `json:"source,omitempty"` // file:line of its declaration
	// Element is the key of the element of for_each that made it, and Parameters is each.value as JSON, cut if it is
	// long. Both are "" without for_each.
	Element    string        `json:"element,omitempty"`
	Parameters string        `json:"parameters,omitempty"`
	Members    []ScopeMember `json:"member_targets"` // sorted by name
	Checks     []ScopeCheck  `json:"checks"`
	Tasks      []ScopeTask   `json:"tasks"`
}

// ScopeMember is a target that is declared as a member.
type ScopeMember struct {
	Target fleet.TargetID   `json:"target,omitempty"` // "" if it is not enrolled
	Name   string           `json:"name"`
	State  ScopeMemberState `json:"state"`
}

// ScopeMemberState tells whether a member counts.
type ScopeMemberState string

// States of members. Only connected and offline members count.
const (
	ScopeConnected   ScopeMemberState = "connected"
	ScopeOffline     ScopeMemberState = "offline"
	ScopeNotEnrolled ScopeMemberState = "not_enrolled"
	ScopeRetired     ScopeMemberState = "retired"
	ScopeRevoked     ScopeMemberState = "revoked"
	ScopeSuspect     ScopeMemberState = "suspect"
	ScopeFrozen      ScopeMemberState = "frozen"
)

// ScopeCheck is a check of a scope with its results. The numbers of testers include only testers that count.
type ScopeCheck struct {
	Name     string        `json:"name"`
	Verdict  Verdict       `json:"verdict"`
	Quorum   string        `json:"quorum"`
	Required int           `json:"required"` // testers that must succeed
	OK       int           `json:"ok"`
	Failed   int           `json:"failed"`
	Pending  int           `json:"pending"`
	Unknown  int           `json:"unknown"`
	Testers  []ScopeTester `json:"testers"` // sorted by name
}

// ScopeTester is a target that tests a check, or the hub that tested it last.
type ScopeTester struct {
	Name    string             `json:"name"`             // "" if no hub has tested it yet
	Hub     bool               `json:"hub,omitempty"`    // it is a hub
	Absent  ScopeMemberState   `json:"absent,omitempty"` // the reason for which it does not count
	Outcome fleet.CheckOutcome `json:"outcome"`          // ok, failed, pending, or "" for unknown
	Since   int64              `json:"since,omitempty"`
	Text    string             `json:"text,omitempty"`
}

// TaskPage has all tasks of all scopes, sorted by scope and name.
type TaskPage struct {
	Format string      `json:"format"`
	Tasks  []ScopeTask `json:"tasks"`
}

// TaskPhase is the state of a task for its declared content.
type TaskPhase string

// Phases of tasks.
const (
	TaskWaiting TaskPhase = "waiting"
	TaskClaimed TaskPhase = "claimed" // a target was chosen, and may not have begun
	TaskRunning TaskPhase = "running"
	TaskDone    TaskPhase = "done"
	TaskFailed  TaskPhase = "failed"
	TaskUnknown TaskPhase = "unknown" // the target was lost during an attempt
)

// ScopeTask is a task that a scope does once for each content. Times are in ns since 1970.
type ScopeTask struct {
	Scope   string    `json:"scope"` // KIND/NAME
	Task    string    `json:"task"`
	Phase   TaskPhase `json:"phase"`
	Since   int64     `json:"since,omitempty"`
	Digest  string    `json:"digest"` // of the declared content
	Command []string  `json:"command,omitempty"`
	// Decide means that a user must decide whether the task is done.
	Decide bool `json:"decide,omitempty"`
	// Waits is the reason for which no attempt begins, or "".
	Waits string `json:"waits,omitempty"`
	Next  int64  `json:"next,omitempty"` // the earliest time of the next attempt
	// Text is the reason of the phase, and By the user that decided it.
	Text string `json:"text,omitempty"`
	By   string `json:"by,omitempty"`
	// Open is the attempt that has not ended, and Attempts have ended, the newest last.
	Open     *TaskAttempt  `json:"open,omitempty"`
	Attempts []TaskAttempt `json:"attempts"`
	// Undeclared means that the repository no longer declares the task. Undo means that Phase, Digest and Decide are of
	// its undo.
	Undeclared bool `json:"undeclared,omitempty"`
	Undo       bool `json:"undo,omitempty"`
	// UndoCommand undoes the task after it is removed; empty: nothing does.
	UndoCommand []string `json:"undo_command,omitempty"`
}

// TaskAttempt is one attempt of a task.
type TaskAttempt struct {
	Fence      uint64            `json:"fence"`
	Digest     string            `json:"digest"`
	Target     fleet.TargetID    `json:"target"` // "" for an attempt of a hub
	Name       string            `json:"name"`   // of the target, at that time, or of the hub
	Hub        bool              `json:"hub,omitempty"`
	Job        string            `json:"job"`            // see fettle job show; "" for an attempt of a hub
	Undo       bool              `json:"undo,omitempty"` // of the undo of the task
	VerifyOnly bool              `json:"verify_only,omitempty"`
	Accepted   bool              `json:"accepted,omitempty"` // by the agent
	Begun      int64             `json:"begun"`
	Ended      int64             `json:"ended,omitempty"`
	Outcome    fleet.TaskOutcome `json:"outcome,omitempty"` // of an attempt that has ended; "" is unknown
	Text       string            `json:"text,omitempty"`
}

// ScopeHistory has the verdicts of a scope.
type ScopeHistory struct {
	Format   string         `json:"format"`
	Scope    string         `json:"scope"`
	Verdicts []ScopeVerdict `json:"verdicts"` // the newest first
}

// ScopeVerdict is a verdict of a scope since a time.
type ScopeVerdict struct {
	Verdict Verdict       `json:"verdict"`
	Since   int64         `json:"since"`
	Reasons []ScopeReason `json:"reasons"`
}

// TaskResult is a decision of a user about a task with an unknown result.
type TaskResult struct {
	Result TaskPhase `json:"result"` // done or failed
	Reason string    `json:"reason"`
}
