package api

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// Views are the queries of the read model. *view.View implements it.
type Views interface {
	Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error)
	// Target finds a target by its identity, or by its name unless it left the fleet.
	Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error)
	Modules(ctx context.Context, now time.Time) (document.ModulePage, error)
	Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error)
	Events(ctx context.Context, q view.EventQuery) (document.EventPage, error)
	// Changed returns a channel that is closed when there may be newer events.
	Changed() <-chan struct{}
	Status(ctx context.Context, now time.Time) (document.Status, error)
}

// Operations are the changes. Each gets the user who requests it, and is durable when it returns.
// Target IDs come from Views.
type Operations interface {
	CreateToken(ctx context.Context, by access.Principal, r document.TokenRequest) (document.NewToken, error)
	Tokens(ctx context.Context) ([]document.Token, error)
	RevokeToken(ctx context.Context, by access.Principal, id string) error

	Hubs(ctx context.Context) (document.HubPage, error)
	RetireHub(ctx context.Context, by access.Principal, name string, r document.HubRetirement) error
	// AuditLog returns a page of the audit log. A negative offset means the last records. It
	// returns a *Refusal if no record begins at the offset.
	AuditLog(ctx context.Context, offset int64, limit int) (document.AuditPage, error)

	Users(ctx context.Context) ([]document.User, error)
	SetUser(ctx context.Context, by access.Principal, r document.UserRequest) error
	// CreateLogin creates a token for an existing user.
	CreateLogin(ctx context.Context, by access.Principal, name string, r document.LoginRequest) (document.NewLogin, error)
	// Logins lists the tokens of a user. RevokeLogin revokes one of them at all hubs.
	Logins(ctx context.Context, name string) ([]document.Login, error)
	RevokeLogin(ctx context.Context, by access.Principal, name, login string) error

	Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error
	Retire(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
	Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
	SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error
	Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error
	Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, module string) error
	Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error
	Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error
	// FreezeAll stores one freeze for all targets, also for targets that enrol later.
	FreezeAll(ctx context.Context, by access.Principal, r document.FreezeRequest) error
	// UnfreezeAll does not change the freezes of single targets.
	UnfreezeAll(ctx context.Context, by access.Principal) error
	// FrozenAll returns the freeze of the fleet that is in force, or nil.
	FrozenAll(ctx context.Context) (*document.FleetFreeze, error)
	// Suspect marks a target as not reliable, and Trust removes the mark. Both may be repeated.
	Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error
	Trust(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
	// Requests returns the undecided requests of agents, the oldest first. DecideRequest returns a
	// Refusal for a request that does not exist.
	Requests(ctx context.Context) ([]document.Request, error)
	DecideRequest(ctx context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind, name string,
		refuse bool, reason string) error
	// Certificates returns the certificates of services. The caller sets the format.
	Certificates(ctx context.Context) (document.CertificatePage, error)
	// RevokeCertificates returns the job that informs the agents, or a Refusal if no certificate
	// matches.
	RevokeCertificates(ctx context.Context, by access.Principal, r document.CertificateRevocation) (document.Job, error)
	// RequestPolicy is the same at all hubs. SetRequestPolicy returns a Refusal for an invalid
	// change.
	RequestPolicy(ctx context.Context) (fleet.RequestPolicy, error)
	SetRequestPolicy(ctx context.Context, by access.Principal, r document.RequestPolicyChange) error

	// SaveState returns the data that hubs share, for a backup.
	SaveState(ctx context.Context, by access.Principal) (document.HubState, error)
	// BackupSaved records that a backup is stored. at is the time in its state, in ns since 1970.
	// It returns a Refusal for a time in the future.
	BackupSaved(ctx context.Context, by access.Principal, at int64) error
	// ApproveAlarm approves the change that the alarm with this digest blocks.
	ApproveAlarm(ctx context.Context, by access.Principal, digest string) error
	Notifications(ctx context.Context) ([]document.NotificationState, error)
	SetNotification(ctx context.Context, by access.Principal, r document.Notification) error
	RemoveNotification(ctx context.Context, by access.Principal, name string) error
	// TestNotification sends an example at once.
	TestNotification(ctx context.Context, by access.Principal, name string) error
	// DecideNotice approves or discards a notice that waits for a decision.
	DecideNotice(ctx context.Context, by access.Principal, id string, reject bool) error
	Binaries(ctx context.Context) ([]document.BinarySetting, error)
	// SetBinary sets the binary of the agents of targets, and of targets that the selection in the
	// request matches later.
	SetBinary(ctx context.Context, by access.Principal, r document.BinaryRequest, targets []fleet.TargetID) error

	// CreateJob stores a job until the agent of each target has acknowledged it, or it expires. The
	// caller has checked the job and evaluated its selection.
	CreateJob(ctx context.Context, by access.Principal, r document.JobRequest, targets []fleet.TargetID) (document.Job, error)
	// Job returns one job with the output of its program.
	Job(ctx context.Context, id string) (document.Job, error)
	// CancelJob cancels a job for agents that have not started it.
	CancelJob(ctx context.Context, by access.Principal, id string) error
	// Jobs returns a page of jobs, the newest first; limit 0 means the largest page. The caller
	// sets the format.
	Jobs(ctx context.Context, offset, limit int) (document.JobPage, error)
}

// Backend is the part of a hub that the API uses. *hub.Hub with *view.View implements it.
type Backend interface {
	Views
	Operations
	Executors
	Repositories(ctx context.Context) ([]document.Repository, error)
	// Exports returns the exported values of targets. The caller sets the format.
	Exports(ctx context.Context) (document.Exports, error)
	// Because returns the reasons for a module on a target, one sentence per element.
	Because(ctx context.Context, id fleet.TargetID, module string) ([]string, error)
	Alarms(ctx context.Context) ([]document.Alarm, error)
	// Check examines the hub. It may take some seconds.
	Check(ctx context.Context) document.HubCheck
	// Health returns at once.
	Health(ctx context.Context) document.Health
}

// Open is the right of routes that need no authentication.
const Open access.Right = ""

// Rights returns all rights that routes can need.
func Rights() []access.Right {
	return []access.Right{access.Read, access.Operate, access.Approve, access.Admin}
}

// Authenticate returns the user of a request; *access.Gate implements it. An error causes the
// status 401 with its text.
type Authenticate func(*http.Request) (access.Principal, error)

// Audit records an operation; *access.Trail implements it. Before each change it is called with the
// outcome access.Begun; if this fails, the change is refused. After the change it is called with
// the outcome. In the first call, Entry.Reason is the request as JSON.
type Audit func(ctx context.Context, e access.Entry) error

// Refusal is an error of a Backend with an HTTP status and a hint.
type Refusal struct {
	Status int // 400 to 499
	Why    string
	Hint   string
}

func (r *Refusal) Error() string { return r.Why }
