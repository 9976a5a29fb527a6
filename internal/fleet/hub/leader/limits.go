package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/source"
)

// limitsOf converts the organizations of a repository, sorted by path. The language has checked their values.
func limitsOf(all []source.Organization) (out []fleet.Limits) {
	for _, o := range all {
		l := fleet.Limits{Organization: fleet.Organization(o.Name), Freeze: o.Freeze, Approvals: o.Approvals}
		if n, err := amount.Parse(o.MaxUnavailable); err == nil {
			l.MaxUnavailable = n
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b fleet.Limits) int { return cmp.Compare(a.Organization, b.Organization) })
	return out
}

// limitsRollouts reports whether any limit is for rollouts. Then targets with the strategy at-once use rollouts, too.
func limitsRollouts(all []fleet.Limits) bool {
	return slices.ContainsFunc(all, fleet.Limits.OfRollouts)
}

// keepLimits stores the limits of the head for all hubs. They remain in force if a later head is unusable. After a
// conflict with another hub, the next computation stores them.
func (t *term) keepLimits(ctx context.Context, limits []fleet.Limits) error {
	stored, rev, known := t.Records.Limits.Get(assign.LimitsKey)
	if slices.Equal(stored, limits) && (known || len(limits) == 0) {
		return nil
	}
	if err := t.Records.Limits.Put(ctx, assign.LimitsKey, limits, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return fmt.Errorf("cannot store the limits of organizations: %w", err)
	}
	return nil
}
