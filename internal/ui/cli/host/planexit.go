package host

import (
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

// changesIn is errChanges for a plan that would change something, or that
// reports drift.
func changesIn(p *plan.Plan) error {
	if !p.Empty() || p.Count()[plan.Drift] > 0 || len(p.Later) > 0 {
		return cli.ErrChanges
	}
	return nil
}
