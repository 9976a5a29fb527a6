package host

import (
	"fmt"

	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
)

// savable refuses a plan whose effect is not known yet.
func savable(p *plan.Plan) error {
	for _, l := range p.Later {
		if l.Action != "" {
			continue
		}
		what := l.State
		if what == "" {
			what = "a later phase"
		}
		return cli.Refuse("Apply it without a saved plan: fettle apply\nOr save the plan of the rest afterwards: fettle apply, then fettle plan -o FILE",
			fmt.Sprintf("cannot save the plan: the changes of %s are known only after apply (%s), so they cannot be reviewed",
				what, l.Why))
	}
	return nil
}
