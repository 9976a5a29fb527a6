package hub

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
)

// A target can have its own freeze, and the fleet can have one. The two records are independent. A
// target is frozen as long as one of them is in force.

// Freeze refuses changes of a target. A second freeze replaces the first.
func (h *Hub) Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error {
	err := h.putFreeze(ctx, by, assign.Freeze{Key: string(id), Targets: []fleet.TargetID{id}}, r)
	return h.did(ctx, by, fleet.TargetFrozen, id, "", r.Reason, err)
}

// Unfreeze removes the freeze of a target. Without a freeze it does nothing.
func (h *Hub) Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.did(ctx, by, fleet.TargetUnfrozen, id, "", "", h.freezes.remove(ctx, string(id)))
}

// FreezeAll refuses changes of all targets, also of targets that enrol later. A second freeze of
// the fleet replaces the first.
func (h *Hub) FreezeAll(ctx context.Context, by access.Principal, r document.FreezeRequest) error {
	err := h.putFreeze(ctx, by, assign.Freeze{Key: assign.AllKey}, r)
	return h.did(ctx, by, fleet.TargetFrozen, "", "", "all targets: "+r.Reason, err)
}

// UnfreezeAll removes the freeze of the fleet. Freezes of single targets remain.
func (h *Hub) UnfreezeAll(ctx context.Context, by access.Principal) error {
	return h.did(ctx, by, fleet.TargetUnfrozen, "", "", "all targets", h.freezes.remove(ctx, assign.AllKey))
}

// FrozenAll returns the freeze of the fleet, or nil if it does not exist or has expired.
func (h *Hub) FrozenAll(context.Context) (*document.FleetFreeze, error) {
	f, _, ok := h.freezes.get(assign.AllKey)
	if !ok || !f.InForce(h.now().Unix()) {
		return nil, nil
	}
	return &document.FleetFreeze{At: f.At, Until: f.Until * int64(time.Second), By: f.By, Reason: f.Reason}, nil
}

// putFreeze writes a freeze and replaces any earlier one. It stores the start in At only for
// display: a freeze is in force at once, also on a hub whose clock is behind.
func (h *Hub) putFreeze(ctx context.Context, by access.Principal, f assign.Freeze, r document.FreezeRequest) error {
	f.At, f.Reason, f.By = h.now().UnixNano(), r.Reason, by.Name
	if r.For > 0 {
		f.Until = h.now().Add(time.Duration(r.For)).Unix()
	}
	_, rev, _ := h.freezes.get(f.Key)
	for {
		err := h.freezes.put(ctx, f.Key, f, rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		if rev, err = h.freezes.storedRev(ctx, f.Key); err != nil {
			return err
		}
	}
}
