package hub

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
)

// cloneReason is why a cloned target is suspect.
const cloneReason = "several hosts have its identity"

// onCloned marks a target as suspect: it is proved that several hosts have its identity. Each
// later claim does it again until the target is marked.
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
	if err != nil || !r.Proved {
		return err // an operator decided meanwhile
	}
	by := access.Somebody("hub "+h.set.Name, "certificate")
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

// trusted returns a target that is active and that is not cloned: only such a target gets
// anything of the fleet, and only its statements count.
func (h *Hub) trusted(ctx context.Context, id fleet.TargetID) (fleet.Target, error) {
	t, err := h.active(ctx, id)
	if err == nil && t.Cloned() {
		err = fmt.Errorf("%w: %s of the target %s. On a hub, see fettle target show %s", fleet.ErrDenied, cloneReason, t.Name, t.Name)
	}
	return t, err
}

// onTarget takes a change of the registry. The connections of a target that is cloned are ended
// once, with the streams over them. A target that an operator trusts again gets its new assignment
// and its jobs.
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

// isCloned tells whether a target gets nothing because it was cloned.
func (c *claims) isCloned(id fleet.TargetID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cloned[id]
}

// onReleased gives a target its new assignment and its jobs, and requests claims. If several hosts
// still have its identity, these claims prove it at once.
func (h *Hub) onReleased(id fleet.TargetID) {
	if !h.exchange.Here(id) {
		return
	}
	_ = h.exchange.Tell(id, fleet.WordClaim, nil) // it claims by itself later
	go h.jobDispatcher.deliver(h.ctx, id)
	if g, _, ok := h.assignments.get(string(id)); ok {
		h.push(g)
	}
}

// forgetClaims removes the record of a target that is not one of the fleet any more.
func (h *Hub) forgetClaims(id fleet.TargetID) {
	if err := h.claims.forget(h.ctx, id); err != nil && h.ctx.Err() == nil {
		h.warn("cannot forget the claims of a target: " + err.Error())
	}
}
