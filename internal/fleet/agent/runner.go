package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/plan"
)

// DefaultConfirm is how long a run that may lock everybody out waits for contact with a
// hub where the repository says nothing.
const DefaultConfirm = 60 * time.Second

// Runner makes the machine be as a composition says. It is used by one goroutine.
type Runner struct {
	// Open opens the engine of this machine; the function with it frees it.
	Open func(ctx context.Context) (executor.Executor, func() error, error)
	// Facts observes the machine.
	Facts   func(ctx context.Context) (map[string]cty.Value, error)
	Compile func(compile.Input) (compile.Result, diag.List)
	// Call gives what an action comes to. nil: only built in ones can be run.
	Call    func(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List)
	Content Content
	// Admit decides whether this host executes a job that runs something. nil: it executes all.
	Admit func(d fleet.Job) (Admission, error)
	// Contact proves that a hub can be reached now, over a connection of its own if that
	// can be had. nil: runs are not armed unless their checks can confirm them.
	Contact func(ctx context.Context) error
	// Arms tells that runs can be armed: this is the machine that people log in to.
	Arms bool
	// Watched are files that are watched besides what is managed: those with which people
	// tell the engine something.
	Watched []string
	// Patience is how long somebody else's lock is waited for, a minute where it is 0.
	Patience time.Duration
	Now      func() time.Time
	Version  string
	// Adopts tells whether to replace what another repository or target applied here, and
	// Adopted is told that it was done. nil: it is never replaced.
	Adopts  func() bool
	Adopted func()

	has *prepared
}

// Run does one, and tells what it finds on the way. When ctx ends it stops cleanly.
func (r *Runner) Run(ctx context.Context, run machine.Run, tell func(machine.Event)) machine.Outcome {
	x, done, err := r.Open(ctx)
	if err != nil {
		return machine.Outcome{Result: machine.Failed, Error: err.Error(), Parts: map[string]machine.Part{"": {Error: err.Error()}}}
	}
	defer func() { _ = done() }()
	patience := r.Patience
	if patience <= 0 {
		patience = time.Minute
	}
	x = executor.Patient(x, executor.Patience{For: patience})
	if out, ok := r.mayRun(ctx, x, run); !ok {
		return out
	}
	has, err := r.prepare(ctx, run)
	switch {
	case ctx.Err() != nil:
		return machine.Outcome{Result: machine.Stopped, Error: "the agent ends"}
	case err != nil:
		return broken(err)
	}
	has.req.Repository, has.req.Adopt = ownerOf(run.Want), r.Adopts != nil && r.Adopts()
	out := r.enforce(ctx, x, has, run, tell)
	if has.req.Adopt && out.Result == machine.Done {
		r.Adopted()
	}
	p := has.req.Policy
	out.Undo = p.OnFailure == "undo" || p.OnCheckFailure == "rollback"
	out.Facts, out.Exports = has.facts, has.last.Exports
	has.waits(out.Parts)
	return out
}

// mayRun refuses, before anything is compiled, where the machine is frozen or waits for
// somebody's confirmation.
func (r *Runner) mayRun(ctx context.Context, x executor.Executor, run machine.Run) (machine.Outcome, bool) {
	c, err := x.Condition(ctx)
	switch {
	case err != nil || run.Look: // what is wrong, the run will tell
		return machine.Outcome{}, true
	case c.Frozen != nil:
		return machine.Outcome{Result: machine.Frozen, Error: localFreezeOf(c)}, false
	case c.Armed != nil && r.Now().Before(time.Unix(0, c.Armed.Deadline)):
		return machine.Outcome{Result: machine.Locked, Error: fmt.Sprintf("run %d waits to be confirmed", c.Armed.Run)}, false
	}
	return machine.Outcome{}, true
}

// localFreezeOf is who froze the machine, and why; "" for nobody.
func localFreezeOf(c executor.Condition) string {
	if c.Frozen == nil {
		return ""
	}
	text := "by " + c.Frozen.By
	if c.Frozen.By == "" {
		text = "by somebody"
	}
	if c.Frozen.Why != "" {
		text += ": " + c.Frozen.Why
	}
	return text
}

// LocalFreeze is who froze the machine, and why; "" for nobody.
func (r *Runner) LocalFreeze(ctx context.Context) (string, error) {
	x, done, err := r.Open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = done() }()
	c, err := x.Condition(ctx)
	return localFreezeOf(c), err
}

// Managed is what stands on the machine and can be watched, by the state that the engine
// keeps.
func (r *Runner) Managed(ctx context.Context) (Managed, error) {
	x, done, err := r.Open(ctx)
	if err != nil {
		return Managed{}, err
	}
	defer func() { _ = done() }()
	st, err := x.Status(ctx)
	if err != nil {
		return Managed{}, err
	}
	m := managedOf(st.State.Entries)
	m.Paths = append(m.Paths, r.Watched...)
	return m, nil
}

// Close frees what it keeps for the next run.
func (r *Runner) Close() error {
	if r.has == nil {
		return nil
	}
	has := r.has
	r.has = nil
	return has.close()
}

func (r *Runner) enforce(ctx context.Context, x executor.Executor, has *prepared, run machine.Run, tell func(machine.Event)) machine.Outcome {
	req := has.req
	req.Verify = run.Full
	p, err := x.Plan(ctx, req)
	if errors.Is(err, executor.ErrForeign) {
		return broken(fmt.Errorf("%w; the agent waits: undo what is applied (fettle rollback origin), or let the agent replace it (fettle agent enrol --adopt)", err))
	}
	if err != nil {
		return has.owners.ended(ctx, &plan.Plan{}, nil, err)
	}
	drift, first := has.owners.driftOf(p)
	if run.Look {
		return looked(drift, first)
	}
	if len(drift) > 0 && req.Repair {
		tell(machine.Drifted{Modules: drift, Text: first})
	}
	if !run.Checks && p.Empty() {
		return done(drift, first)
	}
	rep, err := r.apply(ctx, x, has, p, run)
	out := has.owners.ended(ctx, p, rep, err)
	out.Checked = out.Result == machine.Done
	if out.Result == machine.Done && len(drift) > 0 && !req.Repair {
		out.Error = first
	}
	return out
}

// looked is the outcome of a look that changes nothing.
func looked(drift map[string]int, first string) machine.Outcome {
	out := done(drift, first)
	out.Result = machine.Looked
	return out
}

func done(drift map[string]int, first string) machine.Outcome {
	out := machine.Outcome{Result: machine.Done, Error: first, Parts: map[string]machine.Part{}}
	for name, n := range drift {
		out.Parts[name] = machine.Part{Drift: n}
	}
	return out
}

// apply runs the plan, once more where the machine has changed since it was made.
func (r *Runner) apply(ctx context.Context, x executor.Executor, has *prepared, p *plan.Plan, run machine.Run) (*executor.Report, error) {
	o := r.options(has.req.Policy, run)
	o.Sections = has.owners.sections(run.Want)
	req := has.req
	req.Verify = run.Full
	rep, err := x.Apply(ctx, req, p, o, nil)
	if errors.Is(err, executor.ErrStale) {
		rep, err = x.Apply(ctx, req, nil, o, nil)
	}
	if err != nil || rep == nil || rep.ConfirmBy == 0 {
		return rep, err
	}
	return r.confirm(ctx, x, rep, o)
}

// options are how the repository wants its runs. One that may lock everybody out is
// armed: what could show that it has not is a hub that was there before, or its checks.
func (r *Runner) options(p catalog.Policy, run machine.Run) executor.Options {
	o := executor.Options{
		OnFailure: p.OnFailure, OnCrash: p.OnCrash, OnCheckFailure: p.OnCheckFailure,
		User: "agent", From: "fleet", Command: commandOf(run), Version: r.Version, Unasked: true,
		CrossIrreversible: true, // whoever approved the commit consented: no operator is here to ask
	}
	if p.LockOut == "ignore" || !r.Arms {
		return o
	}
	o.ChecksConfirm = p.LockOut == "checks"
	if !o.ChecksConfirm && (r.Contact == nil || !run.Up) {
		return o
	}
	o.LockOut = DefaultConfirm
	if d, ok := catalog.ConfirmTime(p.ConfirmWithin); ok {
		o.LockOut = d
	}
	return o
}

// commandOf says in the history why there was a run.
func commandOf(run machine.Run) string {
	text := fmt.Sprintf("fettle agent: %s, generation %d.%d", run.Cause, run.Want.Epoch, run.Want.Generation)
	if run.By != "" {
		text += ", by " + run.By
	}
	return text
}
