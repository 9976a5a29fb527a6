package targets

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/limits"
)

// cloneReason is the reason of the suspicion against a cloned target.
const cloneReason = "several hosts have its identity"

// onCloned marks a target as suspect, because several hosts have its identity. It returns at once
// and tries in the background. Later claims call it again until the target is marked.
func (g *Registry) onCloned(id fleet.TargetID, copies []fleet.Copy) {
	g.RetryQueue.Add(g.Context(), limits.RetryTask{
		Key: "cloned/" + string(id),
		Do:  func(ctx context.Context) error { return g.markCloned(ctx, id, copies) },
		Again: func(err error) bool {
			g.Warn(fmt.Sprintf("cannot mark the target %s as cloned: %v", id, err))
			return true
		},
	})
}

func (g *Registry) markCloned(ctx context.Context, id fleet.TargetID, copies []fleet.Copy) error {
	r, _, err := g.claims.record(ctx, id)
	if err != nil || !r.Cloned {
		return err // an operator has decided in the meantime
	}
	by := access.NewPrincipal("hub "+g.Hub, "certificate")
	was := false
	err = g.edit(ctx, by, id, func(t *fleet.Target) error {
		if was = t.Cloned(); was {
			return nil
		}
		because := cloneReason
		if t.Suspect != nil {
			because = t.Suspect.Reason + "; " + cloneReason
		}
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: g.Now().Unix(), Copies: copies}
		return nil
	})
	if was {
		return err
	}
	return g.Events.Did(ctx, by, fleet.Suspected, id, "", cloneReason, err)
}

// Trusted returns a target that is active and not cloned. Only such a target gets assignments and
// content of the fleet, and only its reports count. Other targets cause an error.
func (g *Registry) Trusted(ctx context.Context, id fleet.TargetID) (fleet.Target, error) {
	t, err := g.Active(ctx, id)
	if err == nil && t.Cloned() {
		err = fmt.Errorf("%w: %s of the target %s. On a hub, see fettle target show %s", fleet.ErrDenied, cloneReason,
			t.Name, t.Name)
	}
	return t, err
}

// ForgetClaims removes the record of a target that has left the fleet.
func (g *Registry) ForgetClaims(id fleet.TargetID) {
	if err := g.claims.forget(g.Context(), id); err != nil && g.Context().Err() == nil {
		g.Warn("cannot remove the claims of a target that has left the fleet: " + err.Error())
	}
}
