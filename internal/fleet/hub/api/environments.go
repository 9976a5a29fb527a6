package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Environments are environments that operators create.
type Environments interface {
	// CreateEnvironment stores an environment of active targets. It returns the answer for users.
	CreateEnvironment(ctx context.Context, by access.Principal, r document.EnvironmentRequest,
		targets []fleet.TargetID) (text string, err error)
}

// HandleEnvironments registers the handler of requests for environments.
func HandleEnvironments(t *Table, b Environments) {
	HandlePost(t, route.CreateEnvironment(),
		func(ctx context.Context, c Caller, r document.EnvironmentRequest) (document.Done, error) {
			return t.createEnvironment(ctx, c, r, b)
		})
}

// createEnvironment stores an environment. A missing selection is an error and does not mean all targets.
func (t *Table) createEnvironment(ctx context.Context, c Caller, r document.EnvironmentRequest,
	b Environments) (document.Done, error) {
	if len(r.Select) == 0 {
		return document.Done{}, &Refusal{http.StatusBadRequest, "cannot create an environment without targets",
			"Name targets of the parent: -t TARGET"}
	}
	if err := CheckEnvironmentTime(r.For); err != nil {
		return document.Done{}, err
	}
	ids, err := t.active(ctx, c, r.Select, "create an environment for")
	if err != nil {
		return document.Done{}, err
	}
	for i, m := range r.Modules {
		r.Modules[i] = Directory(m)
	}
	text, err := b.CreateEnvironment(ctx, c.Principal, r, ids)
	return Done(err, "%s", text)
}

// CheckEnvironmentTime refuses times after which an environment must not end.
func CheckEnvironmentTime(ns int64) error {
	if ns >= int64(time.Second) && ns <= assign.MaxEnvironment*int64(time.Second) {
		return nil
	}
	return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot use this time: an environment ends after at most %d days",
		assign.MaxEnvironment/(24*3600)), "Give a time: --expires 3d"}
}
