package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// TargetViews are queries about targets. *view.View implements it.
type TargetViews interface {
	Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error)
	// Target finds a target by its identity, or by its name unless it left the fleet.
	Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error)
}

// Members are changes of the membership of targets. Target IDs come from TargetViews. Each change
// is durable when it returns.
type Members interface {
	Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error
	Retire(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
	Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
}

// Registry are changes of the entries of targets.
type Registry interface {
	SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error
	Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error
	Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, module string) error
}

// Organizations are the organizations of targets.
type Organizations interface {
	// Move may be repeated.
	Move(ctx context.Context, by access.Principal, id fleet.TargetID, to fleet.Organization, reason string) error
}

// Suspicions are the marks of targets that are not reliable. Both changes may be repeated.
type Suspicions interface {
	Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error
	Trust(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error
}

// HandleTargets registers the handlers of queries about targets, and of changes of targets except
// freezes.
func HandleTargets(t *Table, b interface {
	Members
	Registry
	Organizations
	Suspicions
}) {
	Handle(t, route.Targets(),
		func(ctx context.Context, c Caller, q route.TargetQuery, _ route.None) (document.TargetPage, error) {
			return t.targets.Targets(ctx, view.TargetQuery{Select: q.Select, All: q.All, Sort: q.Sort, Offset: q.Offset,
				Limit: q.Limit, After: q.After, State: document.State(q.State), By: q.By, Supervisor: q.Supervisor,
				Now: c.Now})
		})
	Handle(t, route.Target(),
		func(ctx context.Context, c Caller, at route.TargetName, _ route.None) (document.TargetDetail, error) {
			return t.find(ctx, c, at.Target)
		})
	handleMembers(t, b)
	handleRegistry(t, b)
	handleOrganizations(t, b)
	handleTarget(t, route.SuspectTarget(), "%s is suspect.",
		func(ctx context.Context, c Caller, d document.Target, r document.ReasonRequest) error {
			return b.Suspect(ctx, c.Principal, d.ID, r.Reason)
		})
	handleTarget(t, route.TrustTarget(), "%s is trusted.",
		func(ctx context.Context, c Caller, d document.Target, r document.ReasonRequest) error {
			return b.Trust(ctx, c.Principal, d.ID, r.Reason)
		})
}

// find returns a target for which the user has the right of the request. If the user can only read it, the error states
// the missing right. Otherwise it is the error for a name that was never used.
func (t *Table) find(ctx context.Context, c Caller, name string) (document.TargetDetail, error) {
	d, err := t.targets.Target(ctx, name, c.Now)
	if !errors.Is(err, fleet.ErrNotFound) || !fleet.BoundaryOf(ctx).Limited || c.Right == access.Read {
		return d, err
	}
	if _, unread := t.targets.Target(fleet.WithBoundary(ctx, c.Boundary(access.Read)), name, c.Now); unread != nil {
		return d, err
	}
	return d, &Refusal{http.StatusForbidden, fmt.Sprintf("you have no right %q for the target %s", c.Right, name),
		"See your grants: fettle user show. Ask a user with the right admin for a grant"}
}

func handleMembers(t *Table, b Members) {
	handleTarget(t, route.ApproveTarget(), "%s is in the fleet.",
		func(ctx context.Context, c Caller, d document.Target, _ document.ReasonRequest) error {
			if d.Standing != fleet.Pending {
				return &Refusal{http.StatusConflict, fmt.Sprintf("cannot approve %s: it is %s", d.Name, d.Standing),
					"See pending targets: fettle target list -t '*' --all"}
			}
			return b.Approve(ctx, c.Principal, d.ID)
		})
	handleTarget(t, route.RetireTarget(), "%s is retired.",
		func(ctx context.Context, c Caller, d document.Target, r document.ReasonRequest) error {
			return b.Retire(ctx, c.Principal, d.ID, r.Reason)
		})
	handleTarget(t, route.RevokeTarget(), "%s is revoked.",
		func(ctx context.Context, c Caller, d document.Target, r document.ReasonRequest) error {
			return b.Revoke(ctx, c.Principal, d.ID, r.Reason)
		})
}

func handleRegistry(t *Table, b Registry) {
	Handle(t, route.LabelTarget(),
		func(ctx context.Context, c Caller, at route.TargetName, r document.LabelRequest) (document.Done, error) {
			if err := checkLabels(r); err != nil {
				return document.Done{}, err
			}
			return t.on(ctx, c, at.Target, "The labels of %s are set.", func(d document.Target) error {
				return b.SetLabels(ctx, c.Principal, d.ID, r)
			})
		})
	Handle(t, route.PinTarget(),
		func(ctx context.Context, c Caller, at route.TargetName, r document.PinRequest) (document.Done, error) {
			p, err := pinOf(c, r)
			if err != nil {
				return document.Done{}, err
			}
			return t.on(ctx, c, at.Target, "%s is pinned.", func(d document.Target) error {
				return b.Pin(ctx, c.Principal, d.ID, p)
			})
		})
	handleTarget(t, route.UnpinTarget(), "The pin of %s is removed.",
		func(ctx context.Context, c Caller, d document.Target, r document.UnpinRequest) error {
			return b.Unpin(ctx, c.Principal, d.ID, Directory(r.Module))
		})
}

func handleOrganizations(t *Table, b Organizations) {
	Handle(t, route.MoveTarget(),
		func(ctx context.Context, c Caller, at route.TargetName, r document.MoveRequest) (document.Done, error) {
			to := fleet.Organization(r.Organization)
			if err := to.Check(); err != nil {
				return document.Done{}, &Refusal{BadRequest, err.Error(), "Write it as acme or acme/search"}
			}
			text := "%s belongs to the organization " + string(to) + "."
			if to == "" {
				text = "%s belongs to no organization, only to the fleet."
			}
			return t.on(ctx, c, at.Target, text, func(d document.Target) error {
				return b.Move(ctx, c.Principal, d.ID, to, r.Reason)
			})
		})
}

func checkLabels(r document.LabelRequest) error {
	if err := fleet.CheckLabels(r.Set); err != nil {
		return &Refusal{http.StatusBadRequest, err.Error(), "Write labels as KEY=VALUE"}
	}
	for _, k := range r.Remove {
		if _, both := r.Set[k]; both {
			return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot set and remove the label %q at once", k),
				"Use only one of the two"}
		}
	}
	return nil
}

func pinOf(c Caller, r document.PinRequest) (fleet.Pin, error) {
	if r.Ref == "" || r.For < 0 {
		return fleet.Pin{}, &Refusal{http.StatusBadRequest, "cannot pin without a commit, or for a negative time",
			"Name a branch, tag or commit"}
	}
	p := fleet.Pin{Module: Directory(r.Module), Ref: r.Ref, By: c.Name, Reason: r.Reason, Permit: r.Permit}
	if r.For > 0 {
		p.Until = c.Now.Add(time.Duration(r.For)).Unix()
	}
	return p, nil
}
