package task

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// EventKind selects the fields of an event that count.
type EventKind string

// Kinds of events.
const (
	Define   EventKind = "define"   // the repository declares the task, or other values of it
	Undefine EventKind = "undefine" // the repository no longer declares it
	Begin    EventKind = "begin"    // a target was chosen, and the conditions for the begin hold
	Hold     EventKind = "hold"     // no executor can begin now
	Accept   EventKind = "accept"   // the target accepted the attempt
	End      EventKind = "end"      // the target sent the result of an attempt
	Tick     EventKind = "tick"     // time has passed
	Retry    EventKind = "retry"    // a user wants another attempt
	Resolve  EventKind = "resolve"  // a user knows the result
)

// Event is an input of Decide.
type Event struct {
	Kind        EventKind
	Scope, Task string          // of Define
	Definition  Definition      // of Define
	Undo        *Definition     // of Define; nil: none
	At          *fleet.Revision // of Define, see State
	// Restored is the newest time at which the fleet was restored from a backup, or at which a loss of data was detected;
	// 0 means never. It is of Define and Undefine. Missing means that an instance of this content may be lost since then.
	Restored     int64
	Missing      bool
	Target, Name string        // of Begin
	Hub          bool          // of Begin: the hub Name does the task
	Limit        time.Duration // of Begin: the time within which the target must begin
	Fence        uint64        // of Accept and End
	// Outcome and Text are the result of End. Outcome "" means that it is unknown: the attempt was interrupted.
	Outcome fleet.TaskOutcome
	Text    string // of End; of Hold, Retry and Resolve the reason
	By      string // the user of Retry and Resolve
	Done    bool   // of Resolve
}

// ChangeKind names an effect, for the log of the fleet.
type ChangeKind string

// Kinds of changes.
const (
	Defined   ChangeKind = "defined" // with an instance that is waiting, or known from earlier
	Removed   ChangeKind = "removed"
	Begun     ChangeKind = "begun"
	Held      ChangeKind = "held" // it waits for an executor
	Accepted  ChangeKind = "accepted"
	Succeeded ChangeKind = "done"
	Fails     ChangeKind = "failed"     // without another attempt
	FailsOnce ChangeKind = "will_retry" // and is tried again
	Refused   ChangeKind = "refused"
	IsUnknown ChangeKind = "unknown"
	Asks      ChangeKind = "asks" // a user must decide
	Retried   ChangeKind = "retried"
	Resolved  ChangeKind = "resolved"
	Late      ChangeKind = "late" // a result of a lost attempt
	UndoDue   ChangeKind = "undo" // the task was removed, and must be undone
	Kept      ChangeKind = "kept" // the task is declared again before its undo began
)

// Change is an effect of an event.
type Change struct {
	Kind    ChangeKind
	Attempt *Attempt // that it concerns
	Text    string
}

// Refusal is the cause of an answer without success; "" means success.
type Refusal string

// Causes of refusals.
const (
	NotDue   Refusal = "not_due"   // no attempt can begin now
	IsOpen   Refusal = "open"      // an attempt is open
	NoResult Refusal = "no_result" // there is nothing that a user can decide
	NoTask   Refusal = "no_task"   // the repository does not declare the task
	Stale    Refusal = "stale"     // no attempt has the fence
)

// Answer is the result of an event.
type Answer struct {
	Refused Refusal
	Attempt *Attempt // of Begin
	Changes []Change
}
