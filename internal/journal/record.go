package journal

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// RecordKind is the type of a record.
type RecordKind string

// The records of a run, in their possible order.
const (
	// Begin opens the journal: the operation, the initial state, the user.
	Begin RecordKind = "begin"
	// Move is one file change of a batch: before-image, target and temporary
	// name. It is durable before the temporary exists.
	Move RecordKind = "move"
	// Prepared: all of the batch's content is durable beside its place. From here, a recovery can
	// finish or undo.
	Prepared RecordKind = "prepared"
	// Done: every move of the batch is visible and durable.
	Done RecordKind = "done"
	// Intent precedes one operation that is not a file move. After a crash its result is unknown,
	// and the address is read again.
	Intent RecordKind = "intent"
	// Result follows Intent, with the error if the operation failed.
	Result RecordKind = "result"
	// Pending: a lazy action was notified. Fired: it ran, with its error.
	Pending RecordKind = "pending"
	Fired   RecordKind = "fired"
	// Adopted: an address was in sync and is managed from now on. From is its image then.
	Adopted RecordKind = "adopted"
	// Checked is the outcome of one verification.
	Checked RecordKind = "checked"
	// Armed: the run undoes itself at Deadline unless it is Confirmed earlier.
	Armed     RecordKind = "armed"
	Confirmed RecordKind = "confirmed"
	// Undoing: from now on the run is being undone.
	Undoing RecordKind = "undoing"
	// Note is information for users: a conflict, unmanaged files that were kept.
	Note RecordKind = "note"
	// Stated is the state that the run left, or a piece of it, right before the end.
	Stated RecordKind = "state"
	// Commit ends a run whose effects stay, complete or stopped at a failure.
	Commit RecordKind = "commit"
	// Undone ends a run of which nothing is left.
	Undone RecordKind = "undone"
)

// Record is one entry of a journal. Which fields are set depends on Kind.
type Record struct {
	Seq  uint64     `json:"-"` // given by the journal
	Kind RecordKind `json:"k"`
	At   int64      `json:"t,omitempty"` // ns since 1970
	// Change is the index of the change in the run's plan, from 0.
	Change int       `json:"i,omitempty"`
	Addr   addr.Addr `json:"a,omitempty"`
	Batch  int       `json:"b,omitempty"`
	Path   string    `json:"p,omitempty"` // move: the path that changes
	Temp   string    `json:"tmp,omitempty"`
	// InPlace: only metadata changes, on the same inode.
	InPlace bool `json:"inplace,omitempty"`
	// Inode is the inode of a removed file with other names. Undo then links the path to the same
	// file. Other moves have none.
	Inode string       `json:"ino,omitempty"`
	From  *image.Image `json:"from,omitempty"`
	To    *image.Image `json:"to,omitempty"`
	// Back marks moves and results that take the run back.
	Back  bool   `json:"back,omitempty"`
	Error string `json:"err,omitempty"`
	Text  string `json:"txt,omitempty"`
	// Cause lists the addresses whose change notified an action.
	Cause    []addr.Addr `json:"cause,omitempty"`
	Deadline int64       `json:"deadline,omitempty"` // armed: ns since 1970
	Header   *Header     `json:"run,omitempty"`      // begin
	Outcome  Outcome     `json:"outcome,omitempty"`  // commit, undone
	// Summary is the run's line in the history, so that listing does not read the whole journal.
	// The journal sets it at the end of the run.
	Summary *Summary `json:"sum,omitempty"`
	// State is the content of a Stated record. Read omits it; StateAt reads it.
	State *State `json:"state,omitempty"`
	// Synced is the last record that was durable when this one was written. The journal sets it in
	// the first record after each sync.
	Synced uint64 `json:"d,omitempty"`

	piece []byte // the payload of a Stated record
}

// Summary is the result of a run in short.
type Summary struct {
	Error   string `json:"err,omitempty"` // of the first step that failed
	Changed int    `json:"n,omitempty"`   // addresses changed, including undone changes
}

// Ends reports whether a record of this kind ends a run.
func (k RecordKind) Ends() bool { return k == Commit || k == Undone }

// Outcome is how a run ended. The zero value means it has not.
type Outcome string

// The outcomes.
const (
	Succeeded   Outcome = "succeeded"
	Failed      Outcome = "failed"       // a step failed; finished changes remain
	CheckFailed Outcome = "check-failed" // a verification failed; finished changes remain
	RolledBack  Outcome = "rolled-back"  // undone automatically: a failure, a check, no confirmation
	Interrupted Outcome = "interrupted"  // a crash or a signal; undone or finished by recovery
)

// Operation is the command that started a run.
type Operation string

// The operations that make a run.
const (
	OpApply    Operation = "apply"
	OpRollback Operation = "rollback"
)

// Header describes a run. It is written once, in Begin.
type Header struct {
	Format    int           `json:"format"` // 1
	Run       int           `json:"run"`    // from 1, never used twice on a host
	Operation Operation     `json:"op"`
	Base      int           `json:"base"`         // the run whose state this one starts from; 0 is the origin
	To        int           `json:"to,omitempty"` // rollback: the run gone back to
	Target    string        `json:"target,omitempty"`
	Revision  repo.Revision `json:"revision"`
	// Repository is the origin of the list; nil in journals of earlier versions.
	Repository *repo.Identity `json:"repository,omitempty"`
	List       string         `json:"list"`          // digest of the desired list, an object
	Plan       string         `json:"plan"`          // digest of the plan, an object
	Map        string         `json:"map,omitempty"` // digest of the state map (explain), an object
	// OnFailure and OnCrash are the policies in force: stop or undo; undo or finish.
	OnFailure string `json:"on_failure"`
	OnCrash   string `json:"on_crash"`
	User      string `json:"user"` // the login name that started it, with sudo's caller first
	From      string `json:"from"` // terminal, ssh client address, service
	Command   string `json:"command"`
	Version   string `json:"version"`
	PID       int    `json:"pid,omitempty"` // the process that began the run
	BootID    string `json:"boot,omitempty"`
	// Continues is the run of the previous phase of the same apply; 0 for the first phase.
	Continues int `json:"continues,omitempty"`
	// Partial is set if the list is incomplete: more phases follow.
	Partial bool `json:"partial,omitempty"`
	// Stated is set if the end of the journal contains the state after the run. The state file and
	// the pointer are then written after the journal. Begin sets it; older versions did not.
	Stated bool `json:"stated,omitempty"`
}

// State is the applied state after a run, from which plans start. It is part of the run's journal;
// its separate file is a copy for quick access.
type State struct {
	Format  int     `json:"format"` // 1
	Run     int     `json:"run"`    // 0: nothing was ever applied
	List    string  `json:"list,omitempty"`
	Target  string  `json:"target,omitempty"`
	Entries []Entry `json:"entries,omitempty"` // in the order they were applied
	// Pending are actions that were notified and have not succeeded yet.
	Pending []PendingAct `json:"pending,omitempty"`
	// Complete is false when the run stopped before all of its list was done.
	Complete bool          `json:"complete"`
	Revision repo.Revision `json:"revision"`
	// Repository is the origin of the list; nil if it was not recorded.
	Repository *repo.Identity `json:"repository,omitempty"`
}

// RecordedIdentity is an identity as records have it; nil for the zero value.
func RecordedIdentity(id repo.Identity) *repo.Identity {
	if id == (repo.Identity{}) {
		return nil
	}
	return &id
}

// Identity is the repository of the state; the zero value where none was recorded.
func (s *State) Identity() repo.Identity {
	if s.Repository == nil {
		return repo.Identity{}
	}
	return *s.Repository
}

// Entry is one managed address.
type Entry struct {
	Addr addr.Addr `json:"a"`
	Step step.Step `json:"s"`
	Src  string    `json:"src,omitempty"` // file:line
	// Origin is the image before fettle first changed the address; nil if the address was adopted:
	// it was in sync and never changed.
	Origin *image.Image `json:"o,omitempty"`
	// Adopted is the image of an adopted address when it was adopted. It becomes the origin when
	// fettle changes the address for the first time.
	Adopted  *image.Image `json:"ad,omitempty"`
	Run      int          `json:"r"`            // the run that changed or adopted it last
	FirstRun int          `json:"f"`            // the run that first did
	PurgedBy addr.Addr    `json:"by,omitempty"` // purge: the directory whose purge removed it
	// Output is the output of an exec's command for later steps.
	Output *string `json:"out,omitempty"`
	// Failed is set if a command no longer counts as done: a changed version of it, or its undo,
	// has failed since.
	Failed bool `json:"fail,omitempty"`
	// Undo is an earlier version of a command if that version has an undo and no later one has;
	// otherwise none.
	Undo step.Step `json:"undo,omitzero"`
}

// PendingAct is a notified action.
type PendingAct struct {
	Addr  addr.Addr   `json:"a"`
	Step  step.Step   `json:"s"`
	Cause []addr.Addr `json:"cause"`
	Run   int         `json:"r"` // the run that notified it
}
