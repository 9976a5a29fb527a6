package task

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Limits of a state.
const (
	MaxAttempts  = 20 // that have ended and are kept
	MaxInstances = 50
	MaxLost      = 5 // attempts in sequence with an unknown result, after which a user must decide
	MaxText      = 500
	// Reserve is the time after the longest duration of an attempt after which it is lost.
	Reserve = time.Minute
	// FirstPause and LastPause limit the time between two attempts after a refusal.
	FirstPause = 10 * time.Second
	LastPause  = 5 * time.Minute
)

// OnUnknown is the effect of an attempt whose result is unknown.
type OnUnknown string

// Effects. The zero value is Ask.
const (
	Verify     OnUnknown = "verify"
	Ask        OnUnknown = "ask"
	RetryAgain OnUnknown = "retry"
)

// Definition is the declared content of a task.
type Definition struct {
	Digest     string        `json:"digest"`
	Retries    int           `json:"retries,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
	Timeout    time.Duration `json:"timeout_ns"`
	OnUnknown  OnUnknown     `json:"on_unknown,omitempty"`
	Verifiable bool          `json:"verifiable,omitempty"` // the task has a condition
}

// Phase is the state of an instance.
type Phase string

// Phases. Claimed and running instances have the open attempt.
const (
	Waiting Phase = "waiting"
	Claimed Phase = "claimed"
	Running Phase = "running"
	Done    Phase = "done"
	Failed  Phase = "failed"
	Unknown Phase = "unknown"
)

// Instance is one content of the task.
type Instance struct {
	Digest string `json:"digest"`
	// Phase is waiting, done, failed or unknown. State.Phase adds the open attempt.
	Phase Phase `json:"phase"`
	Since int64 `json:"since"` // of the phase
	// Tries counts failed attempts, Refusals the refused and Lost the lost ones since the last other result.
	Tries    int `json:"tries,omitempty"`
	Refusals int `json:"refusals,omitempty"`
	Lost     int `json:"lost,omitempty"`
	// NotBefore is the earliest time of the next attempt.
	NotBefore int64 `json:"not_before,omitempty"`
	// Ask means that a user must decide about an unknown result.
	Ask bool `json:"ask,omitempty"`
	// Began means that a command of an attempt began, as its result shows, or that a user decided that it is done.
	Began bool `json:"began,omitempty"`
	// Text is the reason of the phase, and By the user that caused it.
	Text string `json:"text,omitempty"`
	By   string `json:"by,omitempty"`
}

// Attempt is one attempt of the task.
type Attempt struct {
	Fence      uint64 `json:"fence"`
	Digest     string `json:"digest"`
	Target     string `json:"target"` // ID; "" for a hub
	Name       string `json:"name"`   // of the target, at that time, or of the hub
	Hub        bool   `json:"hub,omitempty"`
	VerifyOnly bool   `json:"verify_only,omitempty"`
	Undo       bool   `json:"undo,omitempty"` // Digest is of the undo of the task
	Begun      int64  `json:"begun"`
	Expires    int64  `json:"expires"`  // must not begin later
	Deadline   int64  `json:"deadline"` // lost without a result
	Accepted   bool   `json:"accepted,omitempty"`
	// Ended, Outcome and Text are of an attempt that has ended. Outcome "" is unknown.
	Ended   int64             `json:"ended,omitempty"`
	Outcome fleet.TaskOutcome `json:"outcome,omitempty"`
	Text    string            `json:"text,omitempty"`
}

// Executor returns "hub" or "target", for texts.
func (a Attempt) Executor() string {
	if a.Hub {
		return "hub"
	}
	return "target"
}

// State contains all that hubs remember of one task. Times are in ms since 1970. Decide does not modify it.
type State struct {
	Scope string `json:"scope"` // KIND/NAME
	Task  string `json:"task"`
	Definition
	// Undeclared means that the repository no longer declares the task, since the time Removed.
	Undeclared bool  `json:"undeclared,omitempty"`
	Removed    int64 `json:"removed,omitempty"`
	// Fence is the fence of the newest attempt.
	Fence     uint64     `json:"fence"`
	Open      *Attempt   `json:"open,omitempty"`
	Instances []Instance `json:"instances"`          // the declared one is the last
	Attempts  []Attempt  `json:"attempts,omitempty"` // that have ended, the newest last
	// Restored is the time of the newest restoration or loss that the state knows.
	Restored int64 `json:"restored,omitempty"`
	// Undo undoes the task after it was removed; nil: the newest declaration has none. At is the revision of this
	// declaration, if hubs do the task.
	Undo *Definition     `json:"undo,omitempty"`
	At   *fleet.Revision `json:"at,omitempty"`
	// Undoing means that the task was removed, and that its undo is due or has ended. Then an instance is of the undo.
	Undoing bool `json:"undoing,omitempty"`
	// Undone is the newest fence at the time of the last successful undo. Results of earlier attempts no longer count.
	Undone uint64 `json:"undone,omitempty"`
}

// Current returns the definition of the undo while it is due or has ended, and otherwise of the declared content.
func (s State) Current() Definition {
	if s.Undoing {
		return *s.Undo
	}
	return s.Definition
}

// Unfinished reports whether the task was removed, and its undo has not ended: it waits, failed, or a user must decide.
// Without an undo, it is false.
func (s State) Unfinished() bool {
	i := s.Instance()
	switch {
	case !s.Undeclared || s.Undo == nil:
		return false
	case s.Open != nil || i.Phase == Unknown:
		return true
	}
	return s.Undoing && i.Phase != Done && !(i.Phase == Failed && i.By != "")
}

// Instance returns the instance of the current content.
func (s State) Instance() Instance {
	digest := s.Current().Digest
	if i := s.find(digest); i >= 0 {
		return s.Instances[i]
	}
	return Instance{Digest: digest, Phase: Waiting}
}

func (s State) find(digest string) int {
	return slices.IndexFunc(s.Instances, func(i Instance) bool { return i.Digest == digest })
}

// Phase returns the state of the current content.
func (s State) Phase() Phase {
	i, open := s.Instance(), s.Open
	switch {
	case open == nil || open.Digest != i.Digest || open.VerifyOnly:
		return i.Phase
	case open.Accepted:
		return Running
	}
	return Claimed
}

// Due reports whether an attempt can begin, or the earliest time at which it can; 0 is never. verifyOnly means that the
// attempt must only test the condition of the task. after tells whether the conditions for the begin hold.
func (s State) Due(now int64, after bool) (due bool, at int64, verifyOnly bool) {
	i, has := s.Instance(), s.Current()
	switch {
	case s.Undeclared && !s.Undoing || s.Open != nil || has.Digest == "":
		return false, 0, false
	case i.Phase == Waiting && after:
	case i.Phase == Unknown && !i.Ask && has.OnUnknown == Verify && has.Verifiable:
		verifyOnly = true
	default:
		return false, 0, false
	}
	return now >= i.NotBefore, i.NotBefore, verifyOnly
}

// Expired reports whether an undeclared task can be forgotten: it was removed keep ago, has no open attempt, and its
// undo has ended.
func (s State) Expired(now int64, keep time.Duration) bool {
	return s.Undeclared && s.Open == nil && !s.Unfinished() && now >= s.Removed+keep.Milliseconds()
}
