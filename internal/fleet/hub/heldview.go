package hub

import (
	"context"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// heldView is the read model with the content that is held. Users with a part of the fleet do not see held content,
// because its rollouts belong to the whole fleet.
type heldView struct {
	*view.View
	held func() []fleet.HeldContent
}

// Target adds held content of the parts that the target has, unless it is pinned.
func (v heldView) Target(ctx context.Context, name string, now time.Time) (document.TargetDetail, error) {
	d, err := v.View.Target(ctx, name, now)
	if err != nil || !fleet.BoundaryOf(ctx).All() || d.Root == nil || d.Target.Pin != nil && d.Target.Pin.Module == "" {
		return d, err
	}
	parts := []string{assign.RootPart}
	for _, m := range d.Modules {
		if m.Assigned != nil && m.Assigned.Branch == d.Root.Branch {
			parts = append(parts, m.Module)
		}
	}
	d.Held = heldAmong(v.held(), parts)
	return d, nil
}

// Module adds held content of the module.
func (v heldView) Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error) {
	d, err := v.View.Module(ctx, q)
	if err == nil && fleet.BoundaryOf(ctx).All() {
		d.Held = heldAmong(v.held(), []string{d.Module.Module})
	}
	return d, err
}

// heldAmong returns the held content of some parts.
func heldAmong(all []fleet.HeldContent, parts []string) []fleet.HeldContent {
	return slices.DeleteFunc(all, func(h fleet.HeldContent) bool {
		return !slices.ContainsFunc(h.Parts, func(p string) bool { return slices.Contains(parts, p) })
	})
}
