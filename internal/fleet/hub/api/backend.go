package api

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
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
	CreateToken(ctx context.Context, by Who, r document.TokenRequest) (document.NewToken, error)
	Tokens(ctx context.Context) ([]document.Token, error)
	RevokeToken(ctx context.Context, by Who, id string) error

	Approve(ctx context.Context, by Who, id fleet.TargetID) error
	Retire(ctx context.Context, by Who, id fleet.TargetID, reason string) error
	Revoke(ctx context.Context, by Who, id fleet.TargetID, reason string) error
	SetLabels(ctx context.Context, by Who, id fleet.TargetID, r document.LabelRequest) error
	Pin(ctx context.Context, by Who, id fleet.TargetID, p fleet.Pin) error
	Unpin(ctx context.Context, by Who, id fleet.TargetID, module string) error
	Freeze(ctx context.Context, by Who, id fleet.TargetID, reason string) error
	Unfreeze(ctx context.Context, by Who, id fleet.TargetID) error

	// Do keeps a request for each of the targets until its agent acknowledges it.
	Do(ctx context.Context, by Who, what, arg string, targets []fleet.TargetID) (document.Request, error)
	Request(ctx context.Context, id string) (document.Request, error)
	Requests(ctx context.Context) ([]document.Request, error)
}

// Backend is what the API stands on.
type Backend interface {
	Views
	Operations
	Repositories(ctx context.Context) ([]document.Repository, error)
	// Health does not wait for anything.
	Health(ctx context.Context) document.Health
}

// Right is what somebody may do.
type Right string

// Rights. None includes another: Who says which one has.
const (
	Open    Right = "" // of routes that anybody may use
	Read    Right = "read"
	Operate Right = "operate"
	Approve Right = "approve"
	Admin   Right = "admin"
)

// Rights are all of them but Open.
func Rights() []Right { return []Right{Read, Operate, Approve, Admin} }

// Who is somebody who has proved it.
type Who struct {
	Name string
	// May tells whether somebody has a right; nil has none.
	May func(Right) bool
}

// Authenticate finds who asks. An error that has fleet.ErrDenied in its chain, or any
// other, is answered with 401 and its text.
type Authenticate func(*http.Request) (Who, error)

// Act is one changing call, for the audit log.
type Act struct {
	At      time.Time `json:"at"`
	Who     string    `json:"who"`
	Right   Right     `json:"right"`
	Route   string    `json:"route"`            // "POST /v1/targets/{target}/pin"
	Object  string    `json:"object,omitempty"` // what the path names
	Body    string    `json:"body,omitempty"`   // what was asked, as JSON; it holds no secret
	Request string    `json:"request"`
	From    string    `json:"from"` // the address
	// Outcome is "asked" before the call, and then "done", "denied" or what went wrong.
	Outcome string `json:"outcome"`
}

// Audit keeps an Act. It is called before each changing call, which is not done when it
// fails, and again with the outcome.
type Audit func(ctx context.Context, a Act) error

// Refusal is an error of a Backend with a status and what to do.
type Refusal struct {
	Status int // 400 to 499
	Why    string
	Hint   string
}

func (r *Refusal) Error() string { return r.Why }
