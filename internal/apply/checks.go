package apply

import (
	"time"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb/check"
)

// wait executes a WAIT step, which waits until a condition holds. It changes nothing, so a recovered
// run waits again. If the condition does not hold within the time limit, the run fails.
func (r *forward) wait(i int) error {
	r.start(i)
	err := check.Wait(r.ctx, r.Host, r.Net, r.machine.Step(i), time.Since(r.began))
	switch {
	case err != nil && r.ctx.Err() != nil:
		return nil // the run was cancelled, so the condition has not failed
	case err != nil:
		return r.fail(i, StepFailed, err)
	}
	r.machine.Set(i, Done)
	r.event("done", i, "")
	return nil
}

// check executes a CHECK step after the changes of the run. All checks run; the first failed check
// becomes the failure of the run.
func (r *forward) check(i int) error {
	c, s := r.plan.Changes[i], r.machine.Step(i)
	r.start(i)
	res := CheckResult{Addr: c.Addr, Source: c.Source, OK: true}
	err := check.Run(r.ctx, r.Host, r.Net, s)
	if err != nil && r.ctx.Err() != nil {
		return nil // the run was cancelled, so the check has not failed
	}
	r.machine.Set(i, Done)
	if err != nil {
		res.OK, res.Error = false, r.masked(err.Error())
		r.machine.Set(i, Failed)
		r.event("failed", i, res.Error)
		if r.failed == nil {
			r.failed = &Failure{Class: VerificationFailed, Addr: c.Addr, Step: s.String(), Source: c.Source, Error: res.Error}
		}
	} else {
		r.event("done", i, "")
	}
	r.checks = append(r.checks, res)
	if err := r.log(journal.Record{Kind: journal.Checked, Change: i, Addr: c.Addr, Error: res.Error}); err != nil {
		return err
	}
	if err != nil {
		return r.failureActs(i)
	}
	return nil
}
