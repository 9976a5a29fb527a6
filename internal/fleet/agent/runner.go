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
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
)

// DefaultConfirm is the time within which an armed run must reach a hub, if the policy of the
// repository has no confirm_within.
const DefaultConfirm = 60 * time.Second

// Runner applies compositions of bundles to the host. It must be used by one goroutine.
type Runner struct {
	// Open opens the executor of this host. The returned function closes it.
	Open func(ctx context.Context) (executor.Executor, func() error, error)
	// Facts reads the facts of this host.
	Facts   func(ctx context.Context) (map[string]cty.Value, error)
	Compile func(compile.Input) (compile.Result, diag.List)
	// Call compiles an action of a module. nil: only built-in actions can run.
	Call    func(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List)
	Content Content
	// Admit decides whether this host executes a job that runs something. nil: it executes all.
	Admit func(d fleet.Job) (Admission, error)
	// Contact succeeds if a hub can be reached now, if possible over a new connection. nil: runs
	// are armed only if their checks can confirm them.
	Contact func(ctx context.Context) error
	// MayArm permits armed runs: users log in to this host.
	MayArm bool
	// ExtraPaths lists additional files to watch: files through which users control the executor, such
	// as a freeze.
	ExtraPaths []string
	// Patience is the time to wait for a lock that another process has, one minute if 0.
	Patience time.Duration
	Now      func() time.Time
	Version  string
	// MayAdopt reports whether the agent may replace configuration that another repository or target
	// applied on this host. OnAdopted is called after a successful run with this permission.
	// nil: it is never replaced.
	MayAdopt  func() bool
	OnAdopted func()
	// Scopes accesses the scopes of the repository.
	Scopes Scopes

	has *prepared
}

// Scopes accesses the scopes of a repository, for their checks and tasks.
type Scopes struct {
	// Read returns the scopes that a tree declares. It must be safe for concurrent use. nil: there are none.
	Read func(tree repo.Tree) (query.Scopes, diag.List)
	// Test tests a condition once on this host, within a time limit. It must be safe for concurrent use.
	Test func(ctx context.Context, p query.Probe, limit time.Duration) error
	// Memory stores the checks of the applied composition; nil: they are compiled after each start.
	Memory *checks.Memory
	// Undos stores the undos of tasks; nil: this host undoes no tasks.
	Undos *Undos
	// VerifyFor is the time within which the condition of a task must hold after its command, 15 seconds if 0.
	VerifyFor time.Duration
}

// Run executes one run and reports found drift through tell before it changes anything. When ctx
// ends it stops cleanly.
func (r *Runner) Run(ctx context.Context, run machine.Run, tell func(machine.Event)) machine.Outcome {
	x, done, err := r.Open(ctx)
	if err != nil {
		return machine.Outcome{Result: machine.Failed, Error: err.Error(),
			Parts: map[string]machine.Part{"": {Error: err.Error()}}}
	}
	defer func() { _ = done() }()
	patience := r.Patience
	if patience <= 0 {
		patience = time.Minute
	}
	x = executor.Patient(x, executor.Patience{For: patience})
	if err := r.recover(ctx, x, run); err != nil {
		return broken(err)
	}
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
	has.req.Repository, has.req.Adopt = ownerOf(run.Want), r.MayAdopt != nil && r.MayAdopt()
	out := r.enforce(ctx, x, has, run, tell)
	if has.req.Adopt && out.Result == machine.Done {
		r.OnAdopted()
	}
	p := has.req.Policy
	out.Undo = p.OnFailure == "undo" || p.OnCheckFailure == "rollback"
	out.Facts, out.Exports = has.facts, has.last.Exports
	has.waits(out.Parts)
	return out
}

// recover finishes or undoes a run that was interrupted, or that was not confirmed in time, before another run: a plan
// of a host between two states is refused. It does so on a frozen host, too. A run that only observes recovers nothing.
func (r *Runner) recover(ctx context.Context, x executor.Executor, run machine.Run) error {
	c, err := x.Condition(ctx)
	late := err == nil && c.Armed != nil && !r.Now().Before(time.Unix(0, c.Armed.Deadline))
	if err != nil || run.Look || c.Unfinished == 0 && !late {
		return nil // the run itself reports the error
	}
	o := executor.Options{User: "agent", From: "fleet", Command: commandOf(run), Version: r.Version, Unasked: true}
	_, err = x.Recover(ctx, o, nil)
	if err == nil || errors.Is(err, executor.ErrUndone) || errors.Is(err, executor.ErrLocked) {
		return nil // the run itself reports a process that holds the lock
	}
	return fmt.Errorf("cannot recover an interrupted run: %w", err)
}

// mayRun refuses a run before anything is compiled, if the host is frozen or an earlier run waits
// for its confirmation.
func (r *Runner) mayRun(ctx context.Context, x executor.Executor, run machine.Run) (machine.Outcome, bool) {
	c, err := x.Condition(ctx)
	switch {
	case err != nil || run.Look: // the run itself reports the error
		return machine.Outcome{}, true
	case c.Frozen != nil:
		return frozen(localFreezeOf(c)), false
	case c.Armed != nil && r.Now().Before(time.Unix(0, c.Armed.Deadline)):
		return machine.Outcome{Result: machine.Locked, Error: fmt.Sprintf("run %d waits for a confirmation", c.Armed.Run)},
			false
	}
	return machine.Outcome{}, true
}

// frozen is the outcome of a run that a freeze refused.
func frozen(f machine.LocalFreeze) machine.Outcome {
	return machine.Outcome{Result: machine.Frozen, Error: f.Why, FrozenUntil: f.Until}
}

// localFreezeOf describes the freeze of the host.
func localFreezeOf(c executor.Condition) machine.LocalFreeze {
	if c.Frozen == nil {
		return machine.LocalFreeze{}
	}
	text := "by " + c.Frozen.By
	if c.Frozen.By == "" {
		text = "by an unknown user"
	}
	if c.Frozen.Until > 0 {
		text += " until " + time.Unix(0, c.Frozen.Until).UTC().Format(time.RFC3339)
	}
	if c.Frozen.Why != "" {
		text += ": " + c.Frozen.Why
	}
	return machine.LocalFreeze{Why: text, Until: c.Frozen.Until}
}

// LocalFreeze describes the freeze of the host.
func (r *Runner) LocalFreeze(ctx context.Context) (machine.LocalFreeze, error) {
	x, done, err := r.Open(ctx)
	if err != nil {
		return machine.LocalFreeze{}, err
	}
	defer func() { _ = done() }()
	c, err := x.Condition(ctx)
	return localFreezeOf(c), err
}

// Managed returns the applied paths and units that can be watched, from the applied state of the
// executor.
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
	m.Paths = append(m.Paths, r.ExtraPaths...)
	return m, nil
}

// Close frees the compiled composition that is kept for the next run.
func (r *Runner) Close() error {
	if r.has == nil {
		return nil
	}
	has := r.has
	r.has = nil
	return has.close()
}

func (r *Runner) enforce(ctx context.Context, x executor.Executor, has *prepared, run machine.Run,
	tell func(machine.Event)) machine.Outcome {
	req := has.req
	req.Verify = run.Full
	p, err := x.Plan(ctx, req)
	if errors.Is(err, executor.ErrForeign) {
		return broken(fmt.Errorf(
			"%w; the agent waits: undo the applied configuration (fettle rollback origin), "+
				"or let the agent replace it (fettle agent enrol --replace-applied-state)", err))
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

// looked is the outcome of a run that only observes.
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

// apply runs the plan. If the host has changed since the plan was made, it makes a new plan and
// tries once more.
func (r *Runner) apply(ctx context.Context, x executor.Executor, has *prepared, p *plan.Plan,
	run machine.Run) (*executor.Report, error) {
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

// options returns the options of a run according to the policy of the repository. A run that could
// lock operators out is armed, if the contact to a hub or its checks can confirm it.
func (r *Runner) options(p catalog.Policy, run machine.Run) executor.Options {
	o := executor.Options{
		OnFailure: p.OnFailure, OnCrash: p.OnCrash, OnCheckFailure: p.OnCheckFailure,
		User: "agent", From: "fleet", Command: commandOf(run), Version: r.Version, Unasked: true,
		CrossIrreversible: true, // the approval of the commit includes consent: no operator is present to ask
	}
	if p.LockOut == "ignore" || !r.MayArm {
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

// commandOf returns the command line of a run for the history, with its cause.
func commandOf(run machine.Run) string {
	text := fmt.Sprintf("fettle agent: %s, generation %d.%d", run.Cause, run.Want.Epoch, run.Want.Generation)
	if run.By != "" {
		text += ", by " + run.By
	}
	return text
}
