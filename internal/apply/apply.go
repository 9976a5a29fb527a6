// Package apply runs a plan. Machine decides the next operation and is pure. The Runner executes it,
// and writes each intent to the journal before it acts.
//
//	r := apply.Runner{Host: h, Store: store, …}
//	res, err := r.Run(ctx, apply.Input{Plan: p, List: list, Header: header, Base: base})
//
// After a failure, a signal, a kill, a power cut or a full disk, each address is completely in its old
// or its new state. Recover then finishes or undoes the run. No step takes effect twice, and all
// overwritten content is stored.
package apply

import (
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/check"
)

// Event is the progress of a run, for display. All events come from one goroutine, in order.
type Event struct {
	// Kind is one of start, done, failed, skipped, wait, progress, undo, note, check, plan.
	Kind   string      `json:"kind"`
	Index  int         `json:"index"` // of the change, from 0
	Total  int         `json:"total"`
	Action plan.Action `json:"action,omitempty"`
	Addr   addr.Addr   `json:"addr,omitempty"`
	Text   string      `json:"text,omitempty"` // the reason or the error
	// Plan is set for the kind plan: the events after it are about this plan instead of the plan before. Text then
	// describes it. It has no differences of content.
	Plan *plan.Plan `json:"plan,omitempty"`
}

// Failure is a change that failed, usually the change that stopped the run.
type Failure struct {
	Class  Class     `json:"class"`
	Addr   addr.Addr `json:"addr"`
	Step   string    `json:"step,omitempty"`
	Source string    `json:"source,omitempty"`
	Error  string    `json:"error"`
}

// Class is the type of a failure.
type Class string

// The classes.
const (
	StepFailed         Class = "step"         // the step itself
	VerificationFailed Class = "verification" // a check after the run
	EngineFailed       Class = "engine"       // the journal, the disk or an interruption, not the step
)

// CheckResult is the result of one CHECK step.
type CheckResult struct {
	Addr   addr.Addr `json:"addr"`
	Source string    `json:"source,omitempty"`
	OK     bool      `json:"ok"`
	Error  string    `json:"error,omitempty"`
}

// Result is the result of a run. Changed counts the changes that took effect and were not undone.
type Result struct {
	Run     int
	Outcome journal.Outcome
	Changed int
	// Failed is the failure that ended the run. If all failures were rescued, it is the first one.
	Failed *Failure
	// Rescued are the failures after which the run continued without the failed blocks.
	Rescued []*Failure
	Checks  []CheckResult
	Notes   []string
	State   journal.State
	// Remaining are the changes that did not run.
	Remaining []addr.Addr
	// NotUndone are the changes that could not be undone.
	NotUndone []addr.Addr
}

// Policies of a run for a failed step, a crash, and a failed check. A header and saved options
// contain these values.
const (
	FailureStop      = "stop" // keep the changes made before
	FailureUndo      = "undo"
	CrashFinish      = "finish"
	CrashUndo        = "undo"
	CheckFailureKeep = "keep"     // keep the changes
	CheckFailureUndo = "rollback" // users write it as undo
)

// Runner executes runs. Set its fields once; do not use it from several goroutines.
type Runner struct {
	Host    host.Host
	Store   *journal.Store
	Net     check.Prober
	Digests Digests
	Names   Names
	// Blobs contains content by digest that may not be in the store yet.
	Blobs map[string]kind.Blob
	Show  func(Event)
	Now   func() time.Time
	// Armed is the time within which the run must be confirmed; 0 means that no confirmation is
	// needed.
	Armed time.Duration
	// OnCrash overrides the crash policy in the header of an interrupted run, unless it is empty.
	OnCrash string
	// OnCheckFailure is CheckFailureKeep or CheckFailureUndo.
	OnCheckFailure string
	// Sections are parts of the list that fail independently, unless the run is undone on failure.
	Sections []Section
	// Mask replaces secrets in displayed and recorded texts; nil means no replacement.
	Mask func(string) string
}

// Digests caches digests of files by their stat data.
type Digests interface {
	Digest(path string, st host.Stat) (digest string, ok bool)
	Remember(path string, st host.Stat, digest string)
}

// Names resolves the names of accounts. Forget drops the cache after a change of accounts.
type Names interface {
	verb.Names
	Forget()
}

// Section is a part of a list that fails independently. If a state in it fails, the run continues
// without the remaining section and without Dependents, and still ends as failed.
type Section struct {
	Name       string      `json:"name"` // for display
	Addrs      []addr.Addr `json:"addrs"`
	Dependents []addr.Addr `json:"behind,omitempty"` // addresses of other sections that need this one, and are barred too
}

// Input has the plan of one run, its list, and the state before it.
type Input struct {
	Plan   *plan.Plan
	List   step.List // the complete desired list
	Header journal.Header
	Base   journal.State
	// Goal has the entries of the state that a rollback restores.
	Goal []journal.Entry
}

// masked returns a text for display and records, without known secrets.
func (r *Runner) masked(text string) string {
	if r.Mask == nil {
		return text
	}
	return r.Mask(text)
}
