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

// Views is what is asked of the read model. *view.View has it.
type Views interface {
	Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error)
	// Target takes an identity or the name of a target that is not gone.
	Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error)
	Modules(ctx context.Context, now time.Time) (document.ModulePage, error)
	Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error)
	Events(ctx context.Context, q view.EventQuery) (document.EventPage, error)
	// Changed is closed when there may be more events than when it was called.
	Changed() <-chan struct{}
	Status(ctx context.Context, now time.Time) (document.Status, error)
}

// Operations is what changes something. Each is told who asks, and is durable when it
// returns. Targets are identities that the views gave.
type Operations interface {
	CreateToken(ctx context.Context, by access.Who, r document.TokenRequest) (document.NewToken, error)
	Tokens(ctx context.Context) ([]document.Token, error)
	RevokeToken(ctx context.Context, by access.Who, id string) error

	Hubs(ctx context.Context) (document.HubPage, error)
	RetireHub(ctx context.Context, by access.Who, name string, r document.HubRetirement) error
	// AuditLog is a part of it; an offset below 0 is that of the last records. A *Refusal
	// says that no record begins there.
	AuditLog(ctx context.Context, offset int64, limit int) (document.AuditPage, error)

	Users(ctx context.Context) ([]document.User, error)
	SetUser(ctx context.Context, by access.Who, r document.UserRequest) error
	// CreateLogin makes a token for somebody whom the hub knows.
	CreateLogin(ctx context.Context, by access.Who, name string, r document.LoginRequest) (document.NewLogin, error)
	// Logins are the tokens of somebody, and RevokeLogin ends one, at all hubs.
	Logins(ctx context.Context, name string) ([]document.Login, error)
	RevokeLogin(ctx context.Context, by access.Who, name, login string) error

	Approve(ctx context.Context, by access.Who, id fleet.TargetID) error
	Retire(ctx context.Context, by access.Who, id fleet.TargetID, reason string) error
	Revoke(ctx context.Context, by access.Who, id fleet.TargetID, reason string) error
	SetLabels(ctx context.Context, by access.Who, id fleet.TargetID, r document.LabelRequest) error
	Pin(ctx context.Context, by access.Who, id fleet.TargetID, p fleet.Pin) error
	Unpin(ctx context.Context, by access.Who, id fleet.TargetID, module string) error
	Freeze(ctx context.Context, by access.Who, id fleet.TargetID, r document.FreezeRequest) error
	Unfreeze(ctx context.Context, by access.Who, id fleet.TargetID) error
	// FreezeAll is one record for all targets, also for those that join later.
	FreezeAll(ctx context.Context, by access.Who, r document.FreezeRequest) error
	// UnfreezeAll leaves the freezes of single targets.
	UnfreezeAll(ctx context.Context, by access.Who) error
	// FrozenAll is the freeze of the fleet that is in force, nil for none.
	FrozenAll(ctx context.Context) (*document.FleetFreeze, error)
	// Suspect marks a target, and Trust takes the mark away. Both may be said twice.
	Suspect(ctx context.Context, by access.Who, id fleet.TargetID, because string) error
	Trust(ctx context.Context, by access.Who, id fleet.TargetID, reason string) error
	// Requests returns the requests of agents that are not decided, the oldest first. DecideRequest gives
	// a Refusal for one that is not there.
	Requests(ctx context.Context) ([]document.Request, error)
	DecideRequest(ctx context.Context, by access.Who, id fleet.TargetID, what fleet.RequestKind, name string, refuse bool, reason string) error
	// Certificates are those of services, without the format.
	Certificates(ctx context.Context) (document.CertificatePage, error)
	// RevokeCertificates returns the job that informs the agents, and a Refusal where
	// none is meant.
	RevokeCertificates(ctx context.Context, by access.Who, r document.CertificateRevocation) (document.Job, error)
	// RequestPolicy is the same at all hubs. SetRequestPolicy gives a Refusal for what there is not.
	RequestPolicy(ctx context.Context) (fleet.RequestPolicy, error)
	SetRequestPolicy(ctx context.Context, by access.Who, r document.RequestPolicyChange) error

	// SaveState gives what hubs share and nothing else knows.
	SaveState(ctx context.Context, by access.Who) (document.HubState, error)
	// BackupSaved records that a backup is stored, of a state with this time. It gives a Refusal
	// for a time to come.
	BackupSaved(ctx context.Context, by access.Who, at int64) error
	// ApproveAlarm lets happen what the alarm with this digest keeps from happening.
	ApproveAlarm(ctx context.Context, by access.Who, digest string) error
	Notifications(ctx context.Context) ([]document.NotificationState, error)
	SetNotification(ctx context.Context, by access.Who, r document.Notification) error
	RemoveNotification(ctx context.Context, by access.Who, name string) error
	// TestNotification sends something at once.
	TestNotification(ctx context.Context, by access.Who, name string) error
	// DecideNotice lets a notice go that waits, or throws it away.
	DecideNotice(ctx context.Context, by access.Who, id string, deny bool) error
	Binaries(ctx context.Context) ([]document.BinarySetting, error)
	// SetBinary says which program the targets are to be, and those that the selection
	// of the request means later.
	SetBinary(ctx context.Context, by access.Who, r document.BinaryRequest, targets []fleet.TargetID) error

	// CreateJob stores a job for each of the targets until its agent acknowledges it, or its
	// time is over. It was checked, and the targets are those that it selects.
	CreateJob(ctx context.Context, by access.Who, r document.JobRequest, targets []fleet.TargetID) (document.Job, error)
	// Job is one with what was said.
	Job(ctx context.Context, id string) (document.Job, error)
	// CancelJob cancels a job for agents that have not started it.
	CancelJob(ctx context.Context, by access.Who, id string) error
	// Jobs is a page of them without the format, the newest first; limit 0 is the largest.
	Jobs(ctx context.Context, offset, limit int) (document.JobPage, error)
}

// Backend is what the API stands on.
type Backend interface {
	Views
	Operations
	Executors
	Repositories(ctx context.Context) ([]document.Repository, error)
	// Exports are what targets export, without the format.
	Exports(ctx context.Context) (document.Exports, error)
	// Because is why a target has a module as it was decided last, a sentence a line.
	Because(ctx context.Context, id fleet.TargetID, module string) ([]string, error)
	Alarms(ctx context.Context) ([]document.Alarm, error)
	// Check looks closely.
	Check(ctx context.Context) document.HubCheck
	// Health does not wait for anything.
	Health(ctx context.Context) document.Health
}

// Open is the right of routes that anybody may use: none.
const Open access.Right = ""

// Rights are all that routes need.
func Rights() []access.Right {
	return []access.Right{access.Read, access.Operate, access.Approve, access.Admin}
}

// Authenticate finds who asks; *access.Gate does. An error is answered with 401 and its
// text.
type Authenticate func(*http.Request) (access.Who, error)

// Audit keeps what somebody did; *access.Trail does. It is called before each changing
// call with the outcome access.Begun, and the call is not made when it fails. Then it is
// called again with how it ended. Entry.Reason of the first is what was asked, as JSON.
type Audit func(ctx context.Context, e access.Entry) error

// Refusal is an error of a Backend with a status and what to do.
type Refusal struct {
	Status int // 400 to 499
	Why    string
	Hint   string
}

func (r *Refusal) Error() string { return r.Why }
