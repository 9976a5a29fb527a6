package document

import "fettle.dev/fettle/internal/fleet"

// Formats of what operations answer.
const (
	TokenPageFormat      = "fettle.fleet.tokens/1"
	NewTokenFormat       = "fettle.fleet.newtoken/1"
	JobFormat            = "fettle.fleet.job/1"
	JobPageFormat        = "fettle.fleet.jobs/1"
	RepositoryPageFormat = "fettle.fleet.repositories/1"
	HealthFormat         = "fettle.fleet.health/1"
	CurrentUserFormat    = "fettle.fleet.whoami/1"
	DoneFormat           = "fettle.fleet.done/1"
	LoginFormat          = "fettle.fleet.login/1"
	UserPageFormat       = "fettle.fleet.users/1"
	NewLoginFormat       = "fettle.fleet.newlogin/1"
	LoginPageFormat      = "fettle.fleet.logins/2"
)

// TokenRequest asks for a token that lets targets in.
type TokenRequest struct {
	Fleet   string            `json:"fleet,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"` // those that targets get
	Names   string            `json:"names,omitempty"`  // a pattern that names of targets fit; "" is any
	Uses    int               `json:"uses,omitempty"`   // how many targets; 0 is one
	Expires int64             `json:"expires_ns,omitempty"`
	Approve bool              `json:"approve,omitempty"` // each target waits for somebody's approval
	Network []string          `json:"network,omitempty"` // CIDR that targets come from; none is any
	Note    string            `json:"note,omitempty"`
	Hub     bool              `json:"hub,omitempty"` // it lets in a hub, and no target
}

// Token is what is known of one; not the token itself, which no hub keeps.
type Token struct {
	ID      string            `json:"id"`
	Fleet   string            `json:"fleet,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Names   string            `json:"names,omitempty"`
	Uses    int               `json:"uses"`
	Used    int               `json:"used"`
	Created int64             `json:"created"`
	Expires int64             `json:"expires"`
	By      string            `json:"by"`
	Approve bool              `json:"approve"`
	Revoked bool              `json:"revoked"`
	Network []string          `json:"network,omitempty"`
	Note    string            `json:"note,omitempty"`
	Hub     bool              `json:"hub,omitempty"`
}

// NewToken is the only answer that holds a token.
type NewToken struct {
	Format string `json:"format"`
	Token  Token  `json:"token"`
	Secret string `json:"secret"`
}

// TokenPage is all tokens that are kept.
type TokenPage struct {
	Format string  `json:"format"`
	Tokens []Token `json:"tokens"`
}

// LabelRequest sets and removes labels of a target.
type LabelRequest struct {
	Set    map[string]string `json:"set,omitempty"`
	Remove []string          `json:"remove,omitempty"`
}

// ReasonRequest is an operation that has nothing but a reason, for people.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty"`
}

// FreezeRequest keeps a target, or all of them, from changing.
type FreezeRequest struct {
	Reason string `json:"reason,omitempty"`
	For    int64  `json:"for_ns,omitempty"` // 0 has no end
}

// HubRetirement takes a hub out of the fleet.
type HubRetirement struct {
	Reason string `json:"reason,omitempty"`
	// Lost says that somebody else may have its keys, or that it is gone for good: nobody
	// believes it from now on, and nothing is fetched from it.
	Lost bool `json:"lost,omitempty"`
}

// PinRequest pins a target or a module of it.
type PinRequest struct {
	Module string `json:"module,omitempty"`
	Ref    string `json:"ref"`
	For    int64  `json:"for_ns,omitempty"` // 0 has no end
	Reason string `json:"reason,omitempty"`
	// Permit is the signed way back to an older commit, for targets that ask for one.
	Permit string `json:"permit,omitempty"`
}

// UnpinRequest takes a pin away.
type UnpinRequest struct {
	Module string `json:"module,omitempty"`
}

// JobRequest creates a job.
type JobRequest struct {
	What   string   `json:"what"` // apply, verify, report or run
	Select []string `json:"select"`
	Arg    string   `json:"arg,omitempty"`
	// Run is what is to be run, of what is run.
	Run *fleet.Command `json:"run,omitempty"`
	// Signed is Run with the signature of a user, for hosts that require one.
	Signed string `json:"signed,omitempty"`
	// Expires is how long it is kept for those that are away; 0 is a week.
	Expires int64 `json:"expires_ns,omitempty"`
}

// Job is work for agents, with their acknowledgements.
type Job struct {
	Format  string         `json:"format"`
	ID      string         `json:"id"`
	What    string         `json:"what"`
	By      string         `json:"by"`
	At      int64          `json:"at"`
	Run     *fleet.Command `json:"run,omitempty"`
	Expires int64          `json:"expires"` // then the job is cancelled for offline agents
	// CancelledBy is the user who cancelled the job for agents that had not started it.
	CancelledBy string      `json:"cancelled_by,omitempty"`
	Targets     []JobTarget `json:"targets"`
}

// JobPage is a page of the stored jobs, the newest first.
type JobPage struct {
	Format string `json:"format"`
	Total  int    `json:"total"` // that are kept
	Jobs   []Job  `json:"jobs"`
}

// JobTarget is the state of a job on one target.
type JobTarget struct {
	ID    fleet.TargetID `json:"id"`
	Name  string         `json:"name"`
	Done  bool           `json:"done"` // false: it waits for the agent
	At    int64          `json:"at,omitempty"`
	Error string         `json:"error,omitempty"`
	// State is the state of the job on this target.
	State JobState `json:"state"`
	// Result is how what was run ended. The output is present only if one job is
	// shown; Cut says that it is omitted, because too many targets have output.
	Result *fleet.CommandResult `json:"result,omitempty"`
	Cut    bool                 `json:"cut,omitempty"`
}

// JobState is the state of a job on one target.
type JobState string

// The states of a job on a target.
const (
	JobWaits       JobState = "waits"        // for the agent
	JobAccepted    JobState = "taken"        // the agent has it, and tells how it ends
	JobDone        JobState = "acknowledged" // and done, or begun
	JobFailed      JobState = "failed"       // it ran, and did not end with 0
	JobRefused     JobState = "refused"      // by the agent
	JobInterrupted JobState = "interrupted"  // it had begun, and nobody saw its end
	JobCancelled   JobState = "cancelled"    // before it began
	JobExpired     JobState = "expired"      // before the agent came
)

// Repository is one that a hub follows.
type Repository struct {
	Name    string `json:"name"`
	URL     string `json:"url"` // without credentials
	Branch  string `json:"branch"`
	Commit  string `json:"commit,omitempty"`
	Subject string `json:"subject,omitempty"`
	Read    int64  `json:"read"` // the last time that it could be; 0 is never
	Error   string `json:"error,omitempty"`
}

// RepositoryPage is all that a hub follows.
type RepositoryPage struct {
	Format       string       `json:"format"`
	Repositories []Repository `json:"repositories"`
}

// Health is how a hub is.
type Health struct {
	Format string  `json:"format"`
	Ready  bool    `json:"ready"` // it serves agents
	Hub    string  `json:"hub"`
	Leads  bool    `json:"leads"`
	Checks []Check `json:"checks"`
}

// Check is one thing that was looked at.
type Check struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // "" is well
}

// CurrentUser is who asks, as the hub sees it.
type CurrentUser struct {
	Format string   `json:"format"`
	Name   string   `json:"name"`
	Rights []string `json:"rights"`
	Hub    string   `json:"hub"`
}

// Done says that something was done.
type Done struct {
	Format string `json:"format"`
	Text   string `json:"text"`
}

// Problem is why something was not done (RFC 9457, with what to do).
type Problem struct {
	Title   string `json:"title"` // what
	Status  int    `json:"status"`
	Detail  string `json:"detail,omitempty"` // why
	Hint    string `json:"hint,omitempty"`   // what to do
	Request string `json:"request"`          // under which the hub's log knows it
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return p.Title
}
