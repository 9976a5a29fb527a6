package api

import (
	"context"
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
)

func (c *call) freezing() (document.FreezeRequest, error) {
	r := *c.in.(*document.FreezeRequest)
	if r.For < 0 {
		return r, &Refusal{http.StatusBadRequest, "cannot freeze for a negative time", "Omit the time for a freeze without an end"}
	}
	return r, nil
}

func (c *call) freeze() (any, error) {
	r, err := c.freezing()
	if err != nil {
		return nil, err
	}
	return c.on("%s is frozen.", func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Freeze(ctx, c.who, t.ID, r)
	})
}

func (c *call) freezeAll() (any, error) {
	r, err := c.freezing()
	if err != nil {
		return nil, err
	}
	if r.Reason == "" {
		return nil, &Refusal{http.StatusBadRequest, "cannot freeze all targets without a reason",
			"Give a reason for other operators: fettle target freeze --all --reason WHY"}
	}
	return done("All targets are frozen, also targets that join later. Offline agents get the freeze when they connect.")(c.h.Backend.FreezeAll(c.r.Context(), c.who, r))
}

// unfreeze reports if the target remains frozen by the freeze of the fleet.
func (c *call) unfreeze() (any, error) {
	all, err := c.h.Backend.FrozenAll(c.r.Context())
	if err != nil {
		return nil, err
	}
	said := "%s may change again."
	if all != nil {
		said = "%s has no freeze of its own now, but the freeze of all targets remains. To end that, run: fettle target unfreeze --all"
	}
	return c.on(said, func(ctx context.Context, t document.Target) error {
		return c.h.Backend.Unfreeze(ctx, c.who, t.ID)
	})
}

// unfreezeAll removes the freeze from the store even if this hub does not see one: another hub may
// have stored it a moment ago. The answer then states that there was none.
func (c *call) unfreezeAll() (any, error) {
	all, err := c.h.Backend.FrozenAll(c.r.Context())
	if err != nil {
		return nil, err
	}
	if all == nil {
		return done("This hub has no freeze of all targets. Targets with a freeze of their own stay frozen: fettle target list.")(c.h.Backend.UnfreezeAll(c.r.Context(), c.who))
	}
	return done("The freeze of all targets by %s has ended. Targets with a freeze of their own stay frozen.", all.By)(c.h.Backend.UnfreezeAll(c.r.Context(), c.who))
}
