// Package apply runs a plan: what to do next is decided by Machine, which is
// pure; the runner here acts, and writes ahead what it is about to do.
//
//	r := apply.Runner{Host: h, Store: store, …}
//	res, err := r.Run(ctx, p, list, header)
//
// Whatever happens (a failure, a signal, a kill, a power cut, a full disk),
// each address has its old or its new state, whole; Recover finishes or takes
// back what a crash left; no step takes effect twice; nothing that was
// overwritten is lost.
package apply

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/check"
)

// Event is progress for people: what is being done now. Events come from one
// goroutine, in order.
type Event struct {
	// Kind is one of start, done, failed, skipped, wait, progress, undo, note, check.
	Kind   string      `json:"kind"`
	Index  int         `json:"index"` // of the change, from 0
	Total  int         `json:"total"`
	Action plan.Action `json:"action,omitempty"`
	Addr   addr.Addr   `json:"addr,omitempty"`
	Text   string      `json:"text,omitempty"` // the reason, the error
}

// Failure is a change that failed, as a rule the one that stopped a run.
type Failure struct {
	Class  Class     `json:"class"`
	Addr   addr.Addr `json:"addr"`
	Step   string    `json:"step,omitempty"`
	Source string    `json:"source,omitempty"`
	Error  string    `json:"error"`
}

// Class says what kind of thing failed.
type Class string

// The classes.
const (
	StepFailed         Class = "step"         // the step itself
	VerificationFailed Class = "verification" // a check after the run
	EngineFailed       Class = "engine"       // journal, disk, interruption: not the step's fault
)

// CheckResult is one verification.
type CheckResult struct {
	Addr   addr.Addr `json:"addr"`
	Source string    `json:"source,omitempty"`
	OK     bool      `json:"ok"`
	Error  string    `json:"error,omitempty"`
}

// Result is how a run ended.
type Result struct {
	Run     int
	Outcome journal.Outcome
	Changed int
	// Failed is what ended the run; where each failure was rescued, the first.
	Failed *Failure
	// Rescued are the failures after which the run went on without their blocks.
	Rescued []*Failure
	Checks  []CheckResult
	Notes   []string
	State   journal.State
	// Remaining are the changes that did not run.
	Remaining []addr.Addr
	// Stays are the changes that the undo of the run could not undo.
	Stays []addr.Addr
}

// Policies that a header holds.
const (
	Stop     = "stop"     // on failure: what was done stays
	Undo     = "undo"     // on failure or crash: take the run back
	Finish   = "finish"   // after a crash: go on
	Keep     = "keep"     // a failed check: what was done stays
	Rollback = "rollback" // a failed check: take the run back
)

// Runner acts. Its fields are set once; it is used by one goroutine.
type Runner struct {
	Host    host.Host
	Store   *journal.Store
	Net     check.Prober
	Digests Digests
	Names   Names
	// Blobs holds content that the store may lack, by digest.
	Blobs map[string]kind.Blob
	Show  func(Event)
	Now   func() time.Time
	// Armed, when positive, arms the run: it must be confirmed within it.
	Armed time.Duration
	// OnCrash, when set, overrules what a crashed run's header says.
	OnCrash string
	// OnCheckFailure is Keep or Rollback.
	OnCheckFailure string
	// Sections fail each for itself in runs that are not undone.
	Sections []Section
	// Mask takes secrets out of what is shown and recorded; nil leaves it.
	Mask func(string) string
}

// Digests is the stat cache: it forgets what is about to change.
type Digests interface {
	Digest(path string, st host.Stat) (digest string, ok bool)
	Remember(path string, st host.Stat, digest string)
}

// Names are the host's account names, with a way to read them again after
// accounts have changed.
type Names interface {
	verb.Names
	Forget()
}

// run is one run under way.
type run struct {
	*Runner
	ctx     context.Context
	env     verb.Env
	plan    *plan.Plan
	header  journal.Header
	m       *Machine
	j       *journal.Journal
	base    journal.State
	fx      []effect // what each change really did, by index
	acts    []actOf  // ACT steps of the wanted list
	batch   int
	checks  []CheckResult
	notes   []string
	failed  *Failure
	halted  bool // a signal or a time limit stopped the run before its end
	reload  bool // unit files changed since systemd read them
	pending map[addr.Addr]journal.PendingAct
	goal    map[addr.Addr]journal.Entry // rollback: entries of the state gone back to
	wanted  step.List
	// listeners are the changes, by index, that each address notifies.
	listeners map[addr.Addr][]int
	at        int  // the change for which programs are run now
	undoing   bool // recovery: the run was being undone when it was cut short
	homeWas   bool // the home of the account under way was there before
	// halves is what dpkg was left with and cannot configure by itself.
	halves string
	// torn: it was left with anything at all. began is when a run did that may have
	// left it so, ns since 1970.
	torn   bool
	began  int64
	output *string // what the command that ran last gives to later steps
	broke  bool    // a transaction of packages failed: what is half done need not be its own
	// swept are directories in which temporaries were removed, not yet durably;
	// left are temporaries that could not be removed so far.
	swept map[string]bool
	left  []string
	// told are the actions that ran for a failure, and whether they succeeded.
	told map[listener]bool
	// faults are the failures by change; rescued are those after which the run
	// went on.
	faults  map[int]*Failure
	rescued []*Failure
}

// effect is what one change did: the address's images, and the path moves with
// which it was done.
type effect struct {
	changed  bool // the machine changed
	from, to image.Image
	moves    []pathMove
	fired    bool // an action that ran, or was about to when a crash came
	// found is what a crashed attempt at the change found, where it left it
	// half done: the before-image is that, and not the half.
	found image.Image
	// undoing: taking the change back had begun when a crash came.
	undoing bool
}

// pathMove is one path's part of a change.
type pathMove struct {
	path     string
	from, to image.File
	inPlace  bool
	open     bool // a crash came before its batch was done
	backing  bool // a crash came while it was undone
}
