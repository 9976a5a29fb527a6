package hub

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// cloneReason is the reason of the suspicion against a cloned target.
const cloneReason = "several hosts have its identity"

// onCloned marks a target as suspect, because several hosts have its identity. It returns at once
// and tries in the background. Later claims call it again until the target is marked.
func (h *Hub) onCloned(id fleet.TargetID, copies []fleet.Copy) {
	h.retryQueue.add(h.ctx, retryTask{
		key: "cloned/" + string(id),
		do:  func(ctx context.Context) error { return h.markCloned(ctx, id, copies) },
		again: func(err error) bool {
			h.warn(fmt.Sprintf("cannot mark the target %s as cloned: %v", id, err))
			return true
		},
	})
}

func (h *Hub) markCloned(ctx context.Context, id fleet.TargetID, copies []fleet.Copy) error {
	r, _, err := h.claims.record(ctx, id)
	if err != nil || !r.Cloned {
		return err // an operator has decided in the meantime
	}
	by := access.NewPrincipal("hub "+h.set.Name, "certificate")
	was := false
	err = h.edit(ctx, by, id, func(t *fleet.Target) error {
		if was = t.Cloned(); was {
			return nil
		}
		because := cloneReason
		if t.Suspect != nil {
			because = t.Suspect.Reason + "; " + cloneReason
		}
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: h.now().Unix(), Copies: copies}
		return nil
	})
	if was {
		return err
	}
	return h.did(ctx, by, fleet.Suspected, id, "", cloneReason, err)
}

// trusted returns a target that is active and not cloned. Only such a target gets assignments and
// content of the fleet, and only its reports count. Other targets cause an error.
func (h *Hub) trusted(ctx context.Context, id fleet.TargetID) (fleet.Target, error) {
	t, err := h.active(ctx, id)
	if err == nil && t.Cloned() {
		err = fmt.Errorf("%w: %s of the target %s. On a hub, see fettle target show %s", fleet.ErrDenied, cloneReason, t.Name, t.Name)
	}
	return t, err
}

// onTarget handles a change in the registry. When a target becomes cloned, it ends the agent
// connections and their streams once. When an operator trusts the target again, released runs.
func (c *claims) onTarget(id fleet.TargetID, t fleet.Target) {
	is := t.Standing == fleet.Active && t.Cloned()
	c.mu.Lock()
	was := c.cloned[id]
	if is {
		c.cloned[id] = true
	} else {
		delete(c.cloned, id)
	}
	c.mu.Unlock()
	switch {
	case is && !was:
		c.exchange.Kick(id)
	case was && !is:
		c.released(id)
	}
}

// isCloned reports whether a target gets nothing because it was cloned.
func (c *claims) isCloned(id fleet.TargetID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cloned[id]
}

// onReleased sends a target its assignment and its jobs, and requests claims. If several hosts
// still have the identity of the target, these claims prove it at once.
func (h *Hub) onReleased(id fleet.TargetID) {
	if !h.exchange.IsConnected(id) {
		return
	}
	_ = h.exchange.Tell(id, fleet.MessageClaim, nil) // if it fails: agents also claim on their own
	go h.jobDispatcher.deliver(h.ctx, id)
	if g, _, ok := h.assignments.get(string(id)); ok {
		h.push(g)
	}
}

// forgetClaims removes the record of a target that has left the fleet.
func (h *Hub) forgetClaims(id fleet.TargetID) {
	if err := h.claims.forget(h.ctx, id); err != nil && h.ctx.Err() == nil {
		h.warn("cannot remove the claims of a target that has left the fleet: " + err.Error())
	}
}
