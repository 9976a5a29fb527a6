package local

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
)

// tellPackages asks dpkg and apt about the package changes of a plan, and adds the
// answers. A plan without such changes costs nothing.
func (x *Executor) tellPackages(ctx context.Context, p *plan.Plan) {
	if p == nil {
		return
	}
	var a plan.PackageAnswers
	if going := p.Going(); len(going) > 0 {
		h, err := x.host.Packages()
		if err == nil {
			a.Remains, err = h.Remains(ctx, going)
		}
		if err != nil {
			a.Unknown = err.Error()
		}
	}
	p.Tell(a)
}

// mayPurge refuses a run that deletes configuration or data of packages for good
// unless the operator consented to just that.
func mayPurge(p *plan.Plan, o executor.Options) error {
	all := p.Purges()
	if len(all) == 0 || o.CrossIrreversible {
		return nil
	}
	return fmt.Errorf("cannot apply: %s: %s; nothing was changed; type the command again with --cross-irreversible to go on: %w", all[0].Addr, all[0].Irreversible, executor.ErrIrreversible)
}
