package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/verb/check"
)

// leftAs is the error of a run that is done, but for addresses that stay as they
// are; another error of the run counts more.
func leftAs(p *plan.Plan, err error) error {
	var blocked []string
	for _, c := range p.Changes {
		if c.NeedsOperator() {
			blocked = append(blocked, string(c.Addr)+": "+c.Obstacle())
		}
	}
	if err != nil || len(blocked) == 0 {
		return err
	}
	return fmt.Errorf("%w, so they are unchanged and still managed; all other changes are done: %s", executor.ErrBlocked,
		strings.Join(blocked, "; "))
}

func (x *runs) runOrVerify(ctx context.Context, r executor.Request, p *plan.Plan, st journal.State, todo bool,
	o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	if !todo {
		return x.verify(ctx, p, show)
	}
	return x.runPlan(ctx, r, p, st, o, show)
}

func (x *runs) runPlan(ctx context.Context, r executor.Request, p *plan.Plan, st journal.State, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	if err := mayPurge(p, o); err != nil {
		return nil, err
	}
	if err := x.keys.keep(r.Secrets); err != nil {
		return nil, err
	}
	run := x.runner(o, show)
	run.Blobs = r.Blobs
	list, states := listOfPlan(r, p), r.States
	if p.Stages > 1 {
		states = statesIn(states, list.Final())
	}
	job := apply.Input{Plan: withoutDiffs(p), List: list, Base: st}
	job.Header.Repository, job.Header.Target = journal.RecordedIdentity(executor.Recording(&r, st)), p.Target
	return x.run(ctx, run, job, states, o)
}

// thawed refuses while the machine is frozen. A freeze that cannot be read counts as a freeze.
func (x *runs) thawed() error {
	f, err := x.store.Frozen()
	if err != nil {
		return fmt.Errorf("this host counts as %w: %w", executor.ErrFrozen, err)
	}
	if f != nil {
		reason, end := "", ""
		if f.Why != "" {
			reason = ": " + f.Why
		}
		if f.Until > 0 {
			end = " until " + time.Unix(0, f.Until).UTC().Format(time.RFC3339)
		}
		return fmt.Errorf("this host is %w by %s since %s%s%s; to change it, run: fettle unfreeze", executor.ErrFrozen,
			orElse(f.By, "an unknown user"), time.Unix(0, f.At).UTC().Format(time.RFC3339), end, reason)
	}
	return nil
}

// verify runs the checks if no change is necessary. It adds no run to the history.
func (x *runs) verify(ctx context.Context, p *plan.Plan, show func(executor.Event)) (*executor.Report, error) {
	rep := &executor.Report{Outcome: journal.Succeeded}
	began := x.now()
	var bad error
	for i, c := range p.Changes {
		if c.Action != plan.Verify {
			continue
		}
		res := executor.CheckResult{Addr: c.Addr, Source: c.Source, OK: true}
		ev := executor.Event{Kind: "done", Index: i, Total: len(p.Changes), Action: c.Action, Addr: c.Addr}
		if err := x.keys.masked(check.Run(ctx, x.host, x.net, c.Step)); err != nil && ctx.Err() != nil {
			return rep, fmt.Errorf("cannot verify %s: %w", c.Addr, context.Cause(ctx))
		} else if err != nil {
			res.OK, res.Error, ev.Kind, ev.Text = false, err.Error(), "failed", err.Error()
			if bad == nil {
				bad = fmt.Errorf("%w: %s: %w", executor.ErrCheckFailed, c.Addr, err)
				rep.Outcome = journal.CheckFailed
				rep.Failed = &executor.Failure{Class: apply.VerificationFailed, Addr: c.Addr, Step: c.Step.String(),
					Source: c.Source, Error: err.Error()}
			}
		}
		if show != nil {
			show(ev)
		}
		rep.Checks = append(rep.Checks, res)
	}
	x.saveCache()
	rep.Duration = x.now().Sub(began)
	return rep, bad
}

// run executes a job and reports the result. If the journal of the run became unwritable,
// run recovers the run at once where possible.
func (x *runs) run(ctx context.Context, r *apply.Runner, job apply.Input, states []executor.StateRef,
	o executor.Options) (*executor.Report, error) {
	began := x.now()
	h, err := x.header(job.Plan, o)
	if err != nil {
		return nil, err
	}
	if h.Map, err = x.keepMap(states); err != nil {
		return nil, err
	}
	h.Repository, h.Target = job.Header.Repository, job.Header.Target
	job.Header = h
	if err := x.guard(ctx, o, began); err != nil {
		return nil, err
	}
	if err := x.store.EnsureBallast(); err != nil {
		return nil, fmt.Errorf("cannot reserve disk space for an undo: %w", err)
	}
	res, err := r.Run(ctx, job)
	if err != nil && res.Run > 0 {
		res, err = x.cutShort(ctx, r, res, err)
	}
	x.saveCache()
	if err == nil {
		x.collect(h.Run)
	}
	rep, err := report(res, began, x.now(), err)
	if o.ConfirmWithin > 0 {
		rep.ConfirmBy, err = x.rearm(res, o, err)
	}
	return rep, err
}

// Retention that is always in force: every so many runs, what no rollback to
// the newest runs or to a younger one needs is removed.
const (
	collectEvery = 20
	keepRuns     = 50
	keepWithin   = 90 * 24 * time.Hour
)

// collect runs the garbage collection on a best-effort basis. The next collection or
// fettle gc removes the rest.
func (x *runs) collect(run int) {
	if run%collectEvery != 0 {
		return
	}
	_, _ = x.store.Collect(journal.Retention{Runs: keepRuns, Within: keepWithin})
}

func (x *runs) keepMap(states []executor.StateRef) (string, error) {
	if len(states) == 0 {
		return "", nil
	}
	b, err := journal.Marshal(stored(states))
	if err != nil {
		return "", fmt.Errorf("cannot store the source map: %w", err)
	}
	d, err := x.store.PutBytes(b)
	if err != nil {
		return "", fmt.Errorf("cannot store the source map: %w", err)
	}
	return d, nil
}

// cutShort makes room and settles the run that could not be ended. The result
// is how recovery ended it.
func (x *runs) cutShort(ctx context.Context, r *apply.Runner, res apply.Result, cause error) (apply.Result, error) {
	if err := x.store.ReleaseBallast(); err != nil {
		return res, errors.Join(cause, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
	defer cancel()
	settled, ok, err := r.Recover(ctx)
	if err != nil {
		return res, errors.Join(cause,
			fmt.Errorf("and the run could not be recovered; free disk space, then run: fettle recover: %w", err))
	}
	if !ok { // the run had ended when the error occurred
		return res, cause
	}
	return settled, fmt.Errorf("%w; the run is now recovered: %s", cause, settled.Outcome)
}

func (x *runs) rollback(ctx context.Context, p *plan.Plan, g rollbackGoal, r executor.RollbackRequest,
	o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	for _, c := range p.Changes {
		if c.Irreversible != "" && !r.CrossIrreversible {
			return nil, fmt.Errorf("%w: %s: %s; to leave its effects and continue, add --cross-irreversible",
				executor.ErrIrreversible, c.Addr, c.Irreversible)
		}
	}
	if p.Empty() && len(p.Changes) == len(p.NeedingOperator()) && (len(p.Changes) > 0 || g.now.Run == g.then.Run) {
		return &executor.Report{Outcome: journal.Succeeded}, nil
	}
	o.ConfirmWithin = 0
	job := apply.Input{Plan: p, List: g.list, Base: g.now, Goal: g.then.Entries}
	job.Header.Repository, job.Header.Target = ownerAfter(g)
	return x.run(ctx, x.runner(o, show), job, nil, o)
}

// backTo reverts to the state after a run, and skips changes that cannot be undone.
func (x *runs) backTo(ctx context.Context, run int, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	r := executor.RollbackRequest{To: run, CrossIrreversible: true, SkipBlocked: true}
	p, g, err := x.planner.planRollback(ctx, r)
	if err != nil {
		return nil, err
	}
	announce(show, p, "back to "+nameOf(run))
	return x.rollback(ctx, p, g, r, o, show)
}

// nameOf names the state after a run.
func nameOf(run int) string {
	if run == 0 {
		return "the origin"
	}
	return fmt.Sprint("run ", run)
}

// guard starts the watcher of the deadline before anything changes. The watcher is
// outside of this process.
func (x *runs) guard(ctx context.Context, o executor.Options, began time.Time) error {
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
func (x *runs) rearm(res apply.Result, o executor.Options, cause error) (int64, error) {
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
