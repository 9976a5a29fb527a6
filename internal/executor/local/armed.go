package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// guard starts the watcher of the deadline before anything changes. The watcher is
// outside of this process.
func (x *Executor) guard(ctx context.Context, o executor.Options, began time.Time) error {
	if o.ConfirmWithin <= 0 {
		return nil
	}
	if x.watch == nil {
		return errors.New("cannot arm the run: nothing would undo it if this process died; " +
			"to run it without a confirmation, add --confirm-within 0s")
	}
	if err := x.watch(ctx, began.Add(o.ConfirmWithin)); err != nil {
		return fmt.Errorf("cannot arm the run: %w; to run it without a confirmation, add --confirm-within 0s", err)
	}
	return nil
}

// rearm starts the confirmation time at the end of a run that stays applied. A run
// without changes needs no confirmation; the phase before it still does.
func (x *Executor) rearm(res apply.Result, o executor.Options, cause error) (int64, error) {
	if res.Outcome == journal.RolledBack || res.Run == 0 {
		return 0, errors.Join(cause, x.store.Disarm())
	}
	run := res.Run
	if changedNothing(res) {
		if run = o.Continues; run == 0 {
			return 0, errors.Join(cause, x.store.Disarm())
		}
	}
	deadline := x.now().Add(o.ConfirmWithin).UnixNano()
	return deadline, errors.Join(cause, x.store.Arm(journal.Arming{Run: run, Deadline: deadline}))
}

// changedNothing reports whether a run left the machine unchanged. The effects of a
// failed command are unknown, so they count as a change.
func changedNothing(res apply.Result) bool {
	for _, f := range append(slices.Clone(res.Rescued), res.Failed) {
		if f != nil && (f.Addr.Kind() == addr.KindExec || f.Addr.Kind() == addr.KindAct) {
			return false
		}
	}
	return res.Changed == 0
}

// confirmed lets the checks of a successful apply confirm it, if the options allow that.
func (x *Executor) confirmed(rep *executor.Report, cause error, o executor.Options) (*executor.Report, error) {
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
func (x *Executor) armedBefore(a journal.Arming) (*journal.Arming, error) {
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
func (x *Executor) revert(ctx context.Context, a journal.Arming, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
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
func (x *Executor) mayApply() error {
	if err := x.thawed(); err != nil {
		return err
	}
	a, err := x.store.ArmedRun()
	if err != nil || a == nil {
		return err
	}
	return fmt.Errorf("run %d waits for a confirmation until %s; run: fettle confirm, or: fettle rollback", a.Run, time.Unix(0, a.Deadline).UTC().Format(time.RFC3339))
}

// Confirm implements executor.Executor.
func (x *Executor) Confirm(_ context.Context, o executor.Options) (int, error) {
	l, err := x.lock(o)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	a, err := x.store.ArmedRun()
	if err != nil {
		return 0, err
	}
	if a == nil {
		return 0, errors.New("no run waits for a confirmation; to see the applied run: fettle status")
	}
	if x.now().UnixNano() >= a.Deadline {
		return a.Run, fmt.Errorf("the time to confirm run %d is over; it is being undone", a.Run)
	}
	return a.Run, x.store.Disarm()
}
