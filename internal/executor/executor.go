// Package executor is the interface for running step lists on a target. The command line,
// timers, SSH and agents all use it.
//
//	var x executor.Executor = …
//	r := executor.Request{List: list, Blobs: blobs}
//	p, err := x.Plan(ctx, r)
//	rep, err := x.Apply(ctx, r, p, executor.Options{}, show)
//
// A target is an object of the configuration. The executor works on its host.
package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Errors that ui turns into exit codes. The error that wraps one describes the problem and
// the command to use next.
var (
	ErrLocked = errors.New("locked")
	// ErrBlocked: some addresses stay as they are because they cannot be reverted now. The
	// other changes are made.
	ErrBlocked     = errors.New("some addresses cannot be restored now")
	ErrStale       = errors.New("the saved plan is stale")
	ErrCheckFailed = errors.New("a check failed")
	ErrUndone      = errors.New("undone")
	ErrFrozen      = errors.New("frozen")
	// ErrIrreversible: the rollback would include steps that cannot be undone.
	ErrIrreversible = errors.New("irreversible steps are in the way")
	// ErrForeign: the applied list is from a different repository or target.
	ErrForeign = errors.New("the configuration of another repository or target is applied")
)

// NotConfirmed is the start of the Command of a run that reverts an armed run.
const NotConfirmed = "not confirmed in time"

// Request is a desired list with its content.
type Request struct {
	Target   string
	Revision repo.Revision
	// Repository is the origin of the list, the zero value if unknown.
	Repository repo.Identity
	// Adopt replaces the applied state even if it is from another repository or target.
	Adopt  bool
	List   step.List
	Blobs  map[string]kind.Blob
	States []StateRef
	// Load returns List, Blobs and States if they are omitted: a host without changes does not
	// need them. ListDigest is then the digest of the list.
	Load       func() (Loaded, error)
	ListDigest string
	// Outputs are the outputs of commands that the repository uses. Known are the outputs
	// that the list was compiled with. If the host has other outputs, an executor calls Next to
	// compile the list again. Next is nil if Outputs is empty.
	Outputs []OutputRef
	Known   Known
	Next    func(known Known) (Request, error)
	// Deferred are states that are omitted until more outputs are known.
	Deferred []Deferred
	// Secrets decrypts the sealed content of the list.
	Secrets secret.Bundle
	// Policy is the run policy of the repository. Options override it. Repair is the
	// decision about drift.
	Policy catalog.Policy
	// Repair false reports drift instead of repairing it.
	Repair bool
	// Diffs adds unified diffs of text content to the plan.
	Diffs bool
	// Verify reads every byte, and does not use the stat cache.
	Verify bool
	// Guards selects how the plan evaluates guards of commands. A run evaluates them on the host,
	// each before its command.
	Guards Guards
}

// Guards selects how unless and only_if are evaluated while nothing is changed.
type Guards string

const (
	// IsolatedGuards runs guards so that they cannot change files or reach the network.
	// The result of a guard that cannot run this way is unknown.
	IsolatedGuards Guards = ""
	// HostGuards runs them on the host, like a run.
	HostGuards Guards = "host"
	// NoGuards runs none of them: all results are unknown.
	NoGuards Guards = "none"
)

// Identity returns the repository of the request, with the name that it declares.
func (r *Request) Identity() repo.Identity {
	id := r.Repository
	if r.Policy.Repository != "" {
		id.Name = r.Policy.Repository
	}
	return id
}

// OutputRef is the output of a command that a repository uses.
type OutputRef struct {
	Addr addr.Addr
	// Step is the step of the command. Outputs of a different step are ignored.
	Step step.Step
}

// Known are the outputs of commands, by address. Like facts, they are inputs of a list.
type Known map[addr.Addr]string

// Deferred is a deferred state: it waits for an output that only a run can determine.
type Deferred struct {
	ID     string
	Source string // file:line
	// Addr is the address that the state writes, "" if it is unknown too.
	Addr addr.Addr
	// Needs are the commands whose output the state needs. It is empty if the state only
	// follows another deferred state.
	Needs []addr.Addr
	// WaitsFor names the values of other targets that it waits for, or "".
	WaitsFor string `json:"Waits,omitempty"`
}

// Loaded is the part of a request that Load returns.
type Loaded struct {
	List   step.List
	Blobs  map[string]kind.Blob
	States []StateRef
	// Secrets is Request.Secrets.
	Secrets secret.Bundle
}

// Digest returns the digest of the list, loaded or not.
func (r *Request) Digest() string {
	if r.Load != nil {
		return r.ListDigest
	}
	return r.List.Digest()
}

// Take copies the loaded content of an earlier, equal request into r.
func (r *Request) Take(filled Request) {
	r.List, r.Blobs, r.States, r.Secrets, r.Load = filled.List, filled.Blobs, filled.States, filled.Secrets, nil
}

// Fill loads the omitted content. A second call does nothing.
func (r *Request) Fill() error {
	if r.Load == nil {
		return nil
	}
	l, err := r.Load()
	if err != nil {
		return err
	}
	r.List, r.Blobs, r.States, r.Secrets, r.Load = l.List, l.Blobs, l.States, l.Secrets, nil
	return nil
}

// StateRef names the state that writes addresses, for explain.
type StateRef struct {
	ID     string      `json:"id"`
	Source string      `json:"source"` // file:line
	Addrs  []addr.Addr `json:"addrs"`
	// Phases are the phases in which the state writes an address. Addresses of the first
	// phase are omitted.
	Phases map[addr.Addr]int `json:"phases,omitempty"`
	// Line is the text of the source line, for hosts without the repository; "" if it was not
	// recorded.
	Line string `json:"line,omitempty"`
	// After are the IDs of states that the source orders before this one. Only the process that has the list and the
	// journal have them; RunDetails carries them to other processes.
	After []string `json:"-"`
}

// Phase returns the phase in which the state writes one of its addresses, from 1.
func (s StateRef) Phase(a addr.Addr) int { return max(1, s.Phases[a]) }

// RollbackRequest selects the state that a rollback restores.
type RollbackRequest struct {
	// To is the run whose state is restored; 0 is the origin, before fettle.
	To int
	// CrossIrreversible restores all other addresses if some steps cannot be undone. Otherwise the
	// rollback is refused with ErrIrreversible.
	CrossIrreversible bool
	// SkipBlocked does not change addresses that cannot be restored now. The same rollback
	// restores them later.
	SkipBlocked bool
	Diffs       bool
	// Guards is Request.Guards.
	Guards Guards `json:",omitempty"`
}

// Options are the policies of a run and the user who requested it.
type Options struct {
	OnFailure string // apply.FailureStop (the default) or apply.FailureUndo
	OnCrash   string // apply.CrashUndo (the default) or apply.CrashFinish
	// OnCheckFailure is apply.CheckFailureKeep (the default) or apply.CheckFailureUndo.
	OnCheckFailure string
	// Sections are parts of the list that fail independently if OnFailure is apply.FailureStop.
	Sections []Section
	// ConfirmWithin arms the run: without a confirmation within this time it is undone. 0 is off.
	ConfirmWithin time.Duration
	// LockOut is ConfirmWithin for a run that may lock out an operator, and for its later phases.
	// 0 is off.
	LockOut time.Duration
	// ChecksConfirm confirms a run that LockOut armed if it has checks and all pass. If one fails,
	// the run is undone at once.
	ChecksConfirm bool
	// Unasked means that there was no prompt after the plan was made. The plan is then still
	// valid if no other process could have changed the host.
	Unasked bool
	// Exact refuses a later phase with other changes than the plan passed to Apply, with
	// ErrStale. The phases before it stay.
	Exact bool
	// Continues is the run of the previous phase, or 0.
	Continues int
	// CrossIrreversible allows changes that delete the configuration and data of packages.
	// Rollbacks have it in their request.
	CrossIrreversible bool
	// IgnoreFreeze allows a change of a frozen host.
	IgnoreFreeze bool `json:"FrozenToo"`
	// WithoutLocks runs without the slots of locks that the run needs.
	WithoutLocks bool   `json:",omitempty"`
	User         string // the requesting user, for the history
	From         string // the host or terminal of this user
	Command      string // the command line as the user typed it
	Version      string
}

// Event reports the progress of a run, for display.
type Event = apply.Event

// Report is the result of a run.
type Report struct {
	Run int `json:"run"` // 0 if no run was necessary
	// Runs are all runs of one apply, when it took several phases.
	Runs    []int           `json:"runs,omitempty"`
	Outcome journal.Outcome `json:"outcome"`
	Changed int             `json:"changed"`
	Failed  *Failure        `json:"failed,omitempty"`
	// Rescued are the failures after which the run continued without the failed block. If
	// nothing failed outside of rescued blocks, Failed is one of them.
	Rescued []*Failure    `json:"rescued,omitempty"`
	Checks  []CheckResult `json:"checks,omitempty"`
	Notes   []string      `json:"notes,omitempty"` // kept foreign files, conflicts
	Pending []addr.Addr   `json:"pending,omitempty"`
	// Remaining are the changes that did not run.
	Remaining []addr.Addr `json:"remaining,omitempty"`
	// NotUndone are the changes that the undo of the run could not revert.
	NotUndone []addr.Addr `json:"stays,omitempty"`
	// ConfirmBy is the time at which an armed run is undone, in ns since 1970; 0 is never.
	ConfirmBy int64         `json:"confirm_by,omitempty"`
	Duration  time.Duration `json:"duration_ns"`
}

// InPart reports whether a failed run continued to its end, because each failure was
// rescued.
func (r *Report) InPart() bool {
	return r.Outcome == journal.Failed && r.Failed != nil && slices.Contains(r.Rescued, r.Failed)
}

// Section is a part of a list that fails independently: a module, for an agent.
type Section = apply.Section

// Failure is a change that failed.
type Failure = apply.Failure

// CheckResult is one verification.
type CheckResult = apply.CheckResult

// Status is the state of a target, determined without reading managed addresses.
type Status struct {
	State journal.State    `json:"state"`
	Last  *journal.RunInfo `json:"last,omitempty"`
	// Notes describe parts of the state directory that were lost or damaged, and created again.
	Notes []string `json:"notes,omitempty"`
	Condition
}

// DriftOptions select what Drift compares.
type DriftOptions struct {
	Diffs  bool `json:"diffs,omitempty"`  // show the differences of text
	Verify bool `json:"verify,omitempty"` // read every byte and every attribute
	// Attributes are names of AttributeKinds that count with Verify although no step sets
	// them.
	Attributes []string `json:"attributes,omitempty"`
	// Guards is Request.Guards.
	Guards Guards `json:"guards,omitempty"`
}

// AttributeKinds are the attributes of managed paths that drift can look at.
func AttributeKinds() []string { return []string{"acl", "capability", "flags", "user", "other"} }

// DefaultAttributes are the AttributeKinds that affect access rights.
func DefaultAttributes() []string { return []string{"acl", "capability", "flags"} }

// Condition are the reasons that block a run.
type Condition struct {
	Unfinished int             `json:"unfinished,omitempty"` // a run that crashed
	Frozen     *journal.Frozen `json:"frozen,omitempty"`
	Armed      *journal.Arming `json:"armed,omitempty"`
	Locked     string          `json:"locked,omitempty"` // the holder of the lock
}

// Executor runs lists on one host. A method that changes something first takes the lock of the host,
// and recovers a crashed run (see Recover). If another process holds the lock, it returns ErrLocked;
// the error shows the User and Command in the Options of that process.
type Executor interface {
	// Plan compares the list with the applied state and the host. It changes nothing.
	Plan(ctx context.Context, r Request) (*plan.Plan, error)
	// Apply plans r again. If the new plan differs from p, it returns ErrStale and changes
	// nothing. If p is nil, it runs the new plan. If a run began, the report is valid even with
	// an error.
	Apply(ctx context.Context, r Request, p *plan.Plan, o Options, show func(Event)) (*Report, error)
	PlanRollback(ctx context.Context, r RollbackRequest) (*plan.Plan, error)
	Rollback(ctx context.Context, r RollbackRequest, p *plan.Plan, o Options, show func(Event)) (*Report, error)
	// Drift compares the applied state with the machine. The changes have the actions
	// repair and drift.
	Drift(ctx context.Context, o DriftOptions) (*plan.Plan, error)
	// Recover finishes or undoes a crashed run, and undoes a run that was not confirmed in time.
	// The report is nil if there was nothing to do.
	Recover(ctx context.Context, o Options, show func(Event)) (*Report, error)
	// Confirm confirms the armed run and returns its number.
	Confirm(ctx context.Context, o Options) (run int, err error)
	Freeze(ctx context.Context, f journal.Frozen, o Options) error
	Unfreeze(ctx context.Context, o Options) error
	Status(ctx context.Context) (Status, error)
	// Condition returns the part of Status whose cost does not depend on the number of managed
	// objects.
	Condition(ctx context.Context) (Condition, error)
	// Runs returns the history, the oldest run first.
	Runs(ctx context.Context) ([]journal.RunInfo, error)
	// Show returns one run with its invocations.
	Show(ctx context.Context, run int) (Shown, error)
	// RunOf returns the newest run that applied a commit. ok is false if there is none.
	RunOf(ctx context.Context, commit string) (run int, ok bool, err error)
	// List returns the list that a run applied.
	List(ctx context.Context, run int) (step.List, error)
	// Collect removes content that no rollback needs.
	Collect(ctx context.Context, keep journal.Retention, o Options) (journal.Collected, error)
}

// Shown is one run with its invocations.
type Shown struct {
	Info        journal.RunInfo `json:"info"`
	Plan        *plan.Plan      `json:"plan"`
	States      []StateRef      `json:"states,omitempty"`
	Invocations []Invocation    `json:"invocations"`
}

// Invocation is the execution of one state in a run, with its cause and its steps.
type Invocation struct {
	State  string      `json:"state"`
	Source string      `json:"source,omitempty"`
	Cause  []addr.Addr `json:"cause,omitempty"`
	Parts  []Part      `json:"parts"`
}

// Part is one step of an invocation.
type Part struct {
	Addr   addr.Addr   `json:"addr"`
	Action plan.Action `json:"action"`
	// Outcome is done, failed, undone or skipped.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}
