package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// on performs an operation on the target in the path, and answers with the text said.
func (c *call) on(said string, f func(ctx context.Context, t document.Target) error) (any, error) {
	d, err := c.h.Backend.Target(c.r.Context(), c.path["target"], c.h.Now())
	if err != nil {
		return nil, err
	}
	return done(said, d.Target.Name)(f(c.r.Context(), d.Target))
}

func (c *call) reason() string { return c.in.(*document.ReasonRequest).Reason }

func (c *call) approve() (any, error) {
	return c.on("%s is in the fleet.", func(ctx context.Context, t document.Target) error {
		if t.Standing != fleet.Pending {
			return &Refusal{http.StatusConflict, fmt.Sprintf("cannot approve %s: it is %s", t.Name, t.Standing), "See pending targets: fettle target list -t '*' --all"}
		}
		return c.h.Backend.Approve(ctx, c.who, t.ID)
	})
}

func (c *call) retire() (any, error) {
	return c.on("%s is retired.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Retire(ctx, c.who, t.ID, c.reason())
	})
}

func (c *call) revoke() (any, error) {
	return c.on("%s is revoked.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Revoke(ctx, c.who, t.ID, c.reason())
	})
}

func (c *call) label() (any, error) {
	r := *c.in.(*document.LabelRequest)
	if err := fleet.CheckLabels(r.Set); err != nil {
		return nil, &Refusal{http.StatusBadRequest, err.Error(), "Write labels as KEY=VALUE"}
	}
	for _, k := range r.Remove {
		if _, both := r.Set[k]; both {
			return nil, &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot set and remove the label %q at once", k), "Use only one of the two"}
		}
	}
	return c.on("The labels of %s are set.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.SetLabels(ctx, c.who, t.ID, r)
	})
}

func (c *call) pin() (any, error) {
	r := *c.in.(*document.PinRequest)
	if r.Ref == "" || r.For < 0 {
		return nil, &Refusal{http.StatusBadRequest, "cannot pin without a commit, or for a negative time", "Name a branch, tag or commit"}
	}
	p := fleet.Pin{Module: Directory(r.Module), Ref: r.Ref, By: c.who.Name, Reason: r.Reason, Permit: r.Permit}
	if r.For > 0 {
		p.Until = c.h.Now().Add(time.Duration(r.For)).Unix()
	}
	return c.on("%s is pinned.", func(ctx context.Context, t document.Target) error { return c.h.Backend.Pin(ctx, c.who, t.ID, p) })
}

func (c *call) unpin() (any, error) {
	module := Directory(c.in.(*document.UnpinRequest).Module)
	return c.on("The pin of %s is removed.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Unpin(ctx, c.who, t.ID, module)
	})
}
