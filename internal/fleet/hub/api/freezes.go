package api

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// TargetFreezes are the freezes of single targets.
type TargetFreezes interface {
	Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error
	Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error
	// FrozenOrganization returns the organization with a freeze in force that contains another one, or "".
	FrozenOrganization(ctx context.Context, of fleet.Organization) fleet.Organization
}

// FleetFreezes are the freezes of all targets.
type FleetFreezes interface {
	// FreezeAll stores one freeze for all targets, also for targets that enrol later.
	FreezeAll(ctx context.Context, by access.Principal, r document.FreezeRequest) error
	// UnfreezeAll does not change the freezes of single targets.
	UnfreezeAll(ctx context.Context, by access.Principal) error
	// FrozenAll returns the freeze of the fleet that is in force, or nil.
	FrozenAll(ctx context.Context) (*document.FleetFreeze, error)
}

// HandleFreezes registers the handlers of freezes.
func HandleFreezes(t *Table, b interface {
	TargetFreezes
	FleetFreezes
}) {
	Handle(t, route.FreezeTarget(),
		func(ctx context.Context, c Caller, at route.TargetName, r document.FreezeRequest) (document.Done, error) {
			if err := checkFreeze(r); err != nil {
				return document.Done{}, err
			}
			return t.on(ctx, c, at.Target, "%s is frozen.", func(d document.Target) error {
				return b.Freeze(ctx, c.Principal, d.ID, r)
			})
		})
	Handle(t, route.UnfreezeTarget(),
		func(ctx context.Context, c Caller, at route.TargetName, _ document.ReasonRequest) (document.Done, error) {
			said, err := unfrozenText(ctx, b)
			if err != nil {
				return document.Done{}, err
			}
			var frozen fleet.Organization
			done, err := t.on(ctx, c, at.Target, said, func(d document.Target) error {
				frozen = b.FrozenOrganization(ctx, d.Organization)
				return b.Unfreeze(ctx, c.Principal, d.ID)
			})
			if err == nil && frozen != "" {
				done.Text = fmt.Sprintf("%s has no freeze of its own now, but the freeze of the organization %s remains.",
					at.Target, frozen)
			}
			return done, err
		})
	HandlePost(t, route.FreezeAll(),
		func(ctx context.Context, c Caller, r document.FreezeRequest) (document.Done, error) {
			if err := checkFleetFreeze(r); err != nil {
				return document.Done{}, err
			}
			return Done(b.FreezeAll(ctx, c.Principal, r),
				"All targets are frozen, also targets that join later. Offline agents get the freeze when they connect.")
		})
	HandlePost(t, route.UnfreezeAll(),
		func(ctx context.Context, c Caller, _ document.ReasonRequest) (document.Done, error) {
			return unfreezeAll(ctx, c, b)
		})
}

func checkFreeze(r document.FreezeRequest) error {
	if r.For < 0 {
		return &Refusal{http.StatusBadRequest, "cannot freeze for a negative time",
			"Omit the time for a freeze without an end"}
	}
	return nil
}

func checkFleetFreeze(r document.FreezeRequest) error {
	if err := checkFreeze(r); err != nil || r.Reason != "" {
		return err
	}
	return &Refusal{http.StatusBadRequest, "cannot freeze all targets without a reason",
		"Give a reason for other operators: fettle target freeze --all --reason WHY"}
}

// unfrozenText returns the answer after a freeze of a target was removed. The text
// contains whether the freeze of all targets remains.
func unfrozenText(ctx context.Context, b FleetFreezes) (string, error) {
	all, err := b.FrozenAll(ctx)
	if err != nil || all == nil {
		return "%s may change again.", err
	}
	return "%s has no freeze of its own now, but the freeze of all targets remains. " +
		"To end that, run: fettle target unfreeze --all", nil
}

// unfreezeAll removes the freeze from the store even if this hub does not see one: another hub may
// have stored it a moment ago. The answer then states that there was none.
func unfreezeAll(ctx context.Context, c Caller, b FleetFreezes) (document.Done, error) {
	all, err := b.FrozenAll(ctx)
	if err != nil {
		return document.Done{}, err
	}
	if err = b.UnfreezeAll(ctx, c.Principal); all == nil {
		return Done(err, "This hub has no freeze of all targets. "+
			"Targets with a freeze of their own stay frozen: fettle target list.")
	}
	return Done(err,
		"The freeze of all targets by %s has ended. Targets with a freeze of their own stay frozen.", all.By)
}
