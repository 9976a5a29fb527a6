package document

import "fettle.dev/fettle/internal/fleet"

// Formats of the answers of operations.
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
	WebLoginFormat       = "fettle.fleet.weblogin/1"
	LoginPageFormat      = "fettle.fleet.logins/2"
)

// TokenRequest requests a token for new targets.
type TokenRequest struct {
	Fleet   string            `json:"fleet,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"` // of the new targets
	Names   string            `json:"names,omitempty"`  // a pattern for the names of targets; "" is any
	Uses    int               `json:"uses,omitempty"`   // number of targets; 0 is one
	Expires int64             `json:"expires_ns,omitempty"`
	Approve bool              `json:"approve,omitempty"` // an operator must approve each target
	Network []string          `json:"network,omitempty"` // CIDR of the targets' addresses; none is any
	Note    string            `json:"note,omitempty"`
	Hub     bool              `json:"hub,omitempty"` // the token is for a hub, not for targets
	// Organization is the organization of the targets; "" is the organization of the user.
	Organization string `json:"organization,omitempty"`
}

// Token describes a token. The hubs do not store the token itself.
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
	// Organization is the organization of the targets.
	Organization string `json:"organization,omitempty"`
}

// NewToken is the only answer that contains a token.
type NewToken struct {
	Format string `json:"format"`
	Token  Token  `json:"token"`
	Secret string `json:"secret"`
}

// TokenPage has all stored tokens.
type TokenPage struct {
	Format string  `json:"format"`
	Tokens []Token `json:"tokens"`
}

// LabelRequest sets and removes labels of a target.
type LabelRequest struct {
	Set    map[string]string `json:"set,omitempty"`
	Remove []string          `json:"remove,omitempty"`
}

// MoveRequest moves a target to another organization.
type MoveRequest struct {
	Organization string `json:"organization"` // "" is the fleet itself
	Reason       string `json:"reason,omitempty"`
}

// ReasonRequest is an operation whose only parameter is a reason, for display.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty"`
}

// FreezeRequest freezes a target, or all targets.
type FreezeRequest struct {
	Reason string `json:"reason,omitempty"`
	For    int64  `json:"for_ns,omitempty"` // 0 has no end
}

// HubRetirement removes a hub from the fleet.
type HubRetirement struct {
	Reason string `json:"reason,omitempty"`
	// Lost means that the hub is gone permanently, or that its keys may be stolen: it is revoked,
	// and no data is copied from it.
	Lost bool `json:"lost,omitempty"`
}

// PinRequest pins a target or one of its modules.
type PinRequest struct {
	Module string `json:"module,omitempty"`
	Ref    string `json:"ref"`
	For    int64  `json:"for_ns,omitempty"` // 0 has no end
	Reason string `json:"reason,omitempty"`
	// Permit is the signed permit for an older commit, for targets that require one.
	Permit string `json:"permit,omitempty"`
}

// UnpinRequest removes a pin.
type UnpinRequest struct {
	Module string `json:"module,omitempty"`
}

// JobRequest creates a job.
type JobRequest struct {
	What   string   `json:"what"` // apply, verify, report or run
	Select []string `json:"select"`
	Arg    string   `json:"arg,omitempty"`
	// Run is the command of a run job.
	Run *fleet.Command `json:"run,omitempty"`
	// Signed is Run with the signature of a user, for hosts that require one.
	Signed string `json:"signed,omitempty"`
	// Expires is the time for which the job is stored for offline agents; 0 is a week.
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
	Expires int64          `json:"expires"` // the job is then cancelled for offline agents
	// CancelledBy is the user who cancelled the job for agents that had not started it.
	CancelledBy string      `json:"cancelled_by,omitempty"`
	Targets     []JobTarget `json:"targets"`
}

// JobPage is a page of the stored jobs, the newest first.
type JobPage struct {
	Format string `json:"format"`
	Total  int    `json:"total"` // number of stored jobs
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
	// Result is the result of the command. The output is present only if one job is shown. Cut
	// means that it is omitted, because too many targets have output.
	Result *fleet.CommandResult `json:"result,omitempty"`
	Cut    bool                 `json:"cut,omitempty"`
}

// JobState is the state of a job on one target.
type JobState string

// The states of a job on a target.
const (
	JobWaits       JobState = "waits"        // the agent has not received it
	JobAccepted    JobState = "taken"        // the agent has it, and will report the result
	JobDone        JobState = "acknowledged" // done, or begun
	JobFailed      JobState = "failed"       // it ran and failed
	JobRefused     JobState = "refused"      // by the agent
	JobInterrupted JobState = "interrupted"  // it had begun, and its result is unknown
	JobCancelled   JobState = "cancelled"    // before it began
	JobExpired     JobState = "expired"      // before the agent connected
)

// Repository is a repository that a hub follows.
type Repository struct {
	Name    string `json:"name"`
	URL     string `json:"url"` // without credentials
	Branch  string `json:"branch"`
	Commit  string `json:"commit,omitempty"`
	Subject string `json:"subject,omitempty"`
	Read    int64  `json:"read"` // time of the last successful poll; 0 is never
	Error   string `json:"error,omitempty"`
}

// RepositoryPage has all repositories that a hub follows.
type RepositoryPage struct {
	Format       string       `json:"format"`
	Repositories []Repository `json:"repositories"`
}

// Health is the state of a hub.
type Health struct {
	Format string  `json:"format"`
	Ready  bool    `json:"ready"` // it serves agents
	Hub    string  `json:"hub"`
	Leads  bool    `json:"leads"`
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty"` // "" means success
}

// CurrentUser is the authenticated user of the request.
type CurrentUser struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	// Rights are the rights for the whole organization.
	Rights []string `json:"rights"`
	Hub    string   `json:"hub"`
	// Organization limits the user to an organization; "" is the whole fleet.
	Organization string `json:"organization,omitempty"`
	// Grants are roles for some targets of the organization, within the rights of the login.
	Grants []UserGrant `json:"grants,omitempty"`
}

// Done reports that an operation succeeded.
type Done struct {
	Format string `json:"format"`
	Text   string `json:"text"`
}

// Problem is the error of an operation (RFC 9457, with the next step).
type Problem struct {
	Title   string `json:"title"` // the problem
	Status  int    `json:"status"`
	Detail  string `json:"detail,omitempty"` // the reason
	Hint    string `json:"hint,omitempty"`   // the next step
	Request string `json:"request"`          // ID of the request in the log of the hub
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return p.Title
}

// Is reports whether the problem is fleet.ErrNotFound: the object or the route does not exist.
func (p *Problem) Is(target error) bool { return target == fleet.ErrNotFound && p.Status == notFound }

const notFound = 404 // the status in HTTP
