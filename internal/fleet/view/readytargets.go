package view

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// ReadyTargets returns the active targets on which a module is ready as assigned. A target without a report, or
// without contact, is not ready.
func (v *View) ReadyTargets(ctx context.Context, module string, now time.Time) (map[fleet.TargetID]bool, error) {
	n, err := v.numberOf(ctx, module)
	if err != nil {
		return nil, err
	}
	all, err := v.targetsOf(ctx, n, now)
	out := map[fleet.TargetID]bool{}
	for _, t := range all {
		out[t.ID] = t.State == fleet.ModuleReady && !t.Behind
	}
	return out, err
}
