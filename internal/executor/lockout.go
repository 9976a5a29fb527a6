package executor

import "fettle.dev/fettle/internal/plan"

// For gives the options for running a plan: where LockOut asks for it and the
// plan may lock an operator out, the run is armed. Options that arm a run already
// stay as they are, so asking for each phase in turn arms all that follow.
func (o Options) For(p *plan.Plan) Options {
	if o.ConfirmWithin > 0 || o.LockOut <= 0 || len(plan.LockOut(p)) == 0 {
		return o
	}
	o.ConfirmWithin = o.LockOut
	if o.ChecksConfirm {
		o.OnCheckFailure = "rollback"
	}
	return o
}
