// Package executor is the interface for running step lists on a target. The command line,
// timers, SSH and agents all use it.
//
//	var x executor.Executor = …
//	p, err := x.Plan(ctx, executor.Request{List: list, Blobs: blobs})
//	rep, err := x.Apply(ctx, p, executor.Options{}, show)
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
	ErrRolledBack  = errors.New("rolled back")
	ErrFrozen      = errors.New("frozen")
	// ErrIrreversible: the rollback would include steps that cannot be undone.
	ErrIrreversible = errors.New("irreversible steps are in the way")
	// ErrForeign: the applied list is from a different repository or target.
	ErrForeign = errors.New("the configuration of another repository or target is applied")
)

// NotConfirmed is the start of the Command of a run that reverts an armed run.
const NotConfirmed = "not confirmed in time"

// Request is a list that is wanted, with all that it needs.
type Request struct {
	Target   string
	Revision repo.Revision
	// Repository is the origin of the list, the zero value if unknown.
	Repository repo.Identity
	// Adopt replaces what is applied even if it is of another repository or target.
	Adopt  bool
	List   step.List
	Blobs  map[string]kind.Blob
	States []StateRef
	// Load gives List, Blobs and States when they are left out: a machine that
	// is found as it was left never needs them. ListDigest is then the list's.
	Load       func() (Loaded, error)
	ListDigest string
	// Outputs are the outputs of commands that the repository uses. Known are the outputs
	// that the list was compiled with. An executor calls Next to compile the list with
	// different outputs, whenever the machine has different ones. Next is nil if Outputs
	// is empty.
	Outputs []OutputRef
	Known   Known
	Next    func(known Known) (Request, error)
	// Held are states that are left out until more outputs are known.
	Held []Held
	// Secrets decrypts the sealed content of the list.
	Secrets secret.Bundle
	// Policy is the run policy of the repository. Options override it. Repair is the
	// decision about drift.
	Policy catalog.Policy
	// Repair false reports drift instead of repairing it.
	Repair bool
	// Diffs asks for unified diffs of text content.
	Diffs bool
	// Verify reads every byte instead of trusting the stat cache.
	Verify bool
	// Guards says how the plan asks the guards of commands. A run asks them on the host,
	// each at its turn.
	Guards Guards
}

// Guards selects how unless and only_if are evaluated while nothing is changed.
type Guards string

const (
	// IsolatedGuards runs guards so that they cannot change files or reach the network.
	// The result of a guard that cannot run this way is unknown.
	IsolatedGuards Guards = ""
	// HostGuards runs them on the host, as a run does.
	HostGuards Guards = "host"
	// NoGuards runs none of them, so none is known.
	NoGuards Guards = "none"
)

// Identity is the repository of the request, by the name that it declares as well.
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
	// Step is the text of the command's step. Outputs of a different text are ignored.
	Step string
}

// Known are outputs by the command that gave them. They are inputs of a list, as
// facts are.
type Known map[addr.Addr]string

// Held is a deferred state: it waits for an output that only a run can determine.
type Held struct {
	ID     string
	Source string // file:line
	// Addr is the address that the state writes, "" if it is unknown too.
	Addr addr.Addr
	// Needs are the commands whose output the state needs. It is empty if the state only
	// follows another deferred state.
	Needs []addr.Addr
	// Waits says which values of other targets it waits for, "" for none.
	Waits string `json:",omitempty"`
}

// Loaded is the part of a request that can come later.
type Loaded struct {
	List   step.List
	Blobs  map[string]kind.Blob
	States []StateRef
	// Secrets is Request.Secrets.
	Secrets secret.Bundle
}

// Digest is the digest of the list, loaded or not.
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

// Fill loads what was left out. Calling it again does nothing.
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

// StateRef ties addresses to the state that wrote them, for explain.
type StateRef struct {
	ID     string      `json:"id"`
	Source string      `json:"source"` // file:line
	Addrs  []addr.Addr `json:"addrs"`
	// Phases are the phases in which the state writes an address. Addresses of the first
	// phase are omitted.
	Phases map[addr.Addr]int `json:"phases,omitempty"`
	// Line is the text of the source line, for hosts that have no repository to read it
	// from; "" if it was not recorded.
	Line string `json:"line,omitempty"`
}

// Phase is the phase in which the state writes one of its addresses, from 1.
func (s StateRef) Phase(a addr.Addr) int { return max(1, s.Phases[a]) }

// RollbackRequest says where to go back to.
type RollbackRequest struct {
	// To is the run whose state is wanted; 0 is the origin, before fettle.
	To int
	// CrossIrreversible continues although some steps cannot be undone.
	CrossIrreversible bool
	// SkipBlocked leaves addresses as they are that cannot be restored now. The same
	// rollback restores them later.
	SkipBlocked bool
	Diffs       bool
	// Guards is Request.Guards.
	Guards Guards `json:",omitempty"`
}

// Options say how a plan is run.
type Options struct {
	OnFailure string // "stop" (the default) or "undo"
	OnCrash   string // "undo" (the default) or "finish"
	// OnCheckFailure: "keep" (the default) or "rollback".
	OnCheckFailure string
	// Sections fail each for itself where OnFailure is "stop".
	Sections []Section
	// ConfirmWithin arms the run: it undoes itself unless confirmed. 0 is off.
	ConfirmWithin time.Duration
	// LockOut arms a run that may lock an operator out, and the phases that follow
	// it, with this time. 0 is off.
	LockOut time.Duration
	// ChecksConfirm lets the checks confirm a run that LockOut armed. The run is confirmed
	// if it has checks and all hold, and reverted at once if one fails.
	ChecksConfirm bool
	// Unasked reports that no operator was prompted after the plan was made. The plan is
	// then still valid if nothing outside could have changed it.
	Unasked bool
	// Exact refuses a later phase that would do what the plan given to Apply does
	// not tell, with ErrStale; the phases before it stay.
	Exact bool
	// Continues is the run of the phase before, 0 for none.
	Continues int
	// CrossIrreversible consents to changes that delete the configuration and data
	// of packages. Rollbacks have it in their request.
	CrossIrreversible bool
	// IgnoreFreeze lets commands and single files change a frozen machine. Runs do not
	// look at it.
	IgnoreFreeze bool   `json:"FrozenToo"`
	User         string // the requesting user, for the history
	From         string // from where
	Command      string // the command line as the user typed it
	Version      string
}

// Event reports the progress of a run, for display.
type Event = apply.Event

// Report is how a run ended.
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
	// ConfirmBy is when an armed run undoes itself, ns since 1970; 0 is never.
	ConfirmBy int64         `json:"confirm_by,omitempty"`
	Duration  time.Duration `json:"duration_ns"`
}

// InPart reports whether a failed run continued to its end, because each failure was
// rescued.
func (r *Report) InPart() bool {
	return r.Outcome == journal.Failed && r.Failed != nil && slices.Contains(r.Rescued, r.Failed)
}

// Section is a piece of a list that fails for itself: a module, for an agent.
type Section = apply.Section

// Failure is a change that failed.
type Failure = apply.Failure

// CheckResult is one verification.
type CheckResult = apply.CheckResult

// Status is the state of a target, determined without reading managed addresses.
type Status struct {
	State journal.State    `json:"state"`
	Last  *journal.RunInfo `json:"last,omitempty"`
	// Notes tell what of the state directory was lost or damaged and made again.
	Notes []string `json:"notes,omitempty"`
	Condition
}

// DriftOptions say how closely Drift looks.
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

// Executor runs lists on one target. Every method takes the target's lock
// where it changes something and gives ErrLocked when another holds it, and
// settles a crashed run first (see Recover).
type Executor interface {
	// Plan compares and changes nothing.
	Plan(ctx context.Context, r Request) (*plan.Plan, error)
	// Apply plans r again, refuses with ErrStale when the result is not p,
	// and runs it. A nil p takes what planning gives. The report is valid
	// beside an error that says why the run failed.
	Apply(ctx context.Context, r Request, p *plan.Plan, o Options, show func(Event)) (*Report, error)
	PlanRollback(ctx context.Context, r RollbackRequest) (*plan.Plan, error)
	Rollback(ctx context.Context, r RollbackRequest, p *plan.Plan, o Options, show func(Event)) (*Report, error)
	// Drift compares the applied state with the machine. The changes have the actions
	// repair and drift.
	Drift(ctx context.Context, o DriftOptions) (*plan.Plan, error)
	// Recover recovers a crashed run and reverts a run that was not confirmed in time. The
	// report describes the result; it is nil if there was nothing to do.
	Recover(ctx context.Context, o Options, show func(Event)) (*Report, error)
	// If another client is refused because of the lock, its error shows the User and
	// Command of these options.
	Confirm(ctx context.Context, o Options) (run int, err error)
	Freeze(ctx context.Context, f journal.Frozen, o Options) error
	Unfreeze(ctx context.Context, o Options) error
	Status(ctx context.Context) (Status, error)
	// Condition is the part of Status that costs the same however much is
	// managed.
	Condition(ctx context.Context) (Condition, error)
	// Runs is the history, oldest first.
	Runs(ctx context.Context) ([]journal.RunInfo, error)
	// Show is one run whole.
	Show(ctx context.Context, run int) (Shown, error)
	// RunOf finds the newest run whose state is from a commit. ok is false if there is
	// none.
	RunOf(ctx context.Context, commit string) (run int, ok bool, err error)
	// List reads back the list that a run applied.
	List(ctx context.Context, run int) (step.List, error)
	// Collect removes what no rollback needs.
	Collect(ctx context.Context, keep journal.Retention, o Options) (journal.Collected, error)
}

// Shown is one run with its invocations.
type Shown struct {
	Info        journal.RunInfo `json:"info"`
	Plan        *plan.Plan      `json:"plan"`
	States      []StateRef      `json:"states,omitempty"`
	Invocations []Invocation    `json:"invocations"`
}

// Invocation is one execution of one state in a run, with its cause and parts.
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
	// Outcome is done, failed, undone, skipped.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}
