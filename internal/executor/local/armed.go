package local

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// confirmed lets the checks of a successful apply confirm it, if the options allow that.
func (x *runs) confirmed(rep *executor.Report, cause error, o executor.Options) (*executor.Report, error) {
	if cause != nil || !o.ChecksConfirm || rep.ConfirmBy == 0 || len(rep.Checks) == 0 {
		return rep, cause
	}
	for _, c := range rep.Checks {
		if !c.OK {
			return rep, nil
		}
	}
	rep.ConfirmBy = 0
	rep.Notes = append(rep.Notes, "confirmed by its checks")
	return rep, x.store.Disarm()
}

// armedBefore is the arming that remains after an armed run was reverted: the phase
// before it, or nil.
func (x *runs) armedBefore(a journal.Arming) (*journal.Arming, error) {
	recs, err := x.store.Read(a.Run)
	if err != nil {
		return nil, err
	}
	if len(recs) == 0 || recs[0].Header == nil || recs[0].Header.Continues == 0 {
		return nil, x.store.Disarm()
	}
	a.Run = recs[0].Header.Continues
	return &a, x.store.Arm(a)
}

// revert restores the state from before an armed run.
func (x *runs) revert(ctx context.Context, a journal.Arming, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	base, err := x.baseOf(a.Run)
	if err != nil {
		return nil, fmt.Errorf("run %d was not confirmed: %w", a.Run, err)
	}
	o.Command = fmt.Sprintf("%s: run %d", executor.NotConfirmed, a.Run)
	rep, err := x.backTo(ctx, base, o, show)
	if err != nil {
		return rep, err
	}
	rep.Notes = append(rep.Notes, fmt.Sprintf("run %d was not confirmed in time and is undone", a.Run))
	return rep, x.store.Disarm()
}

// mayApply refuses while the machine is frozen, or waits for a confirmation.
func (x *runs) mayApply(o executor.Options) error {
	if err := x.thawed(); err != nil && !o.IgnoreFreeze {
		return err
	}
	a, err := x.store.ArmedRun()
	if err != nil || a == nil {
		return err
	}
	return fmt.Errorf("run %d waits for its confirmation until %s; run: fettle confirm, or: fettle rollback", a.Run,
		time.Unix(0, a.Deadline).UTC().Format(time.RFC3339))
}

// baseOf is the run from whose state an apply started. run may be any phase of the apply.
func (x *runs) baseOf(run int) (int, error) {
	for {
		recs, err := x.store.Read(run)
		if err != nil || len(recs) == 0 || recs[0].Header == nil {
			return 0, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
		}
		h := recs[0].Header
		if h.Continues <= 0 || h.Continues >= run {
			return h.Base, nil
		}
		run = h.Continues
	}
}
