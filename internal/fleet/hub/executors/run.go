package executors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/plan"
)

// readWithin is the time for the complete answer of an agent about a run.
const readWithin = 15 * time.Second

// errSlow is the cause of the end of a question whose time is over.
var errSlow = errors.New("its agent did not answer in time")

// question is a question to the agent of a target.
type question struct {
	what    string // it asks for
	command string // asks the same on the command line
	changes bool   // the answer needs the right to change the target
}

// ask opens the executor of a target, and calls f with it. The answer of an agent is not trusted: its size and its time
// are limited.
func (e *Opener) ask(ctx context.Context, by access.Principal, id fleet.TargetID, q func(name string) question,
	f func(context.Context, *wire.Client) error) error {
	t, err := e.Trusted(ctx, id)
	if err != nil {
		return err
	}
	leave, err := e.reads.enter(by.Name)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, readWithin, errSlow)
	defer cancel()
	asked := q(t.Name)
	stream, err := e.OpenExecutor(ctx, by, id, asked.changes)
	if err != nil {
		return err
	}
	err = within(ctx, stream, f)
	if _, ok := errors.AsType[*document.Problem](err); ok || err == nil {
		return err
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		return silentTarget(t.Name, e.MissingHubs(ctx))
	}
	return &document.Problem{Title: "The agent of " + t.Name + " cannot answer", Status: 502,
		Detail: fmt.Sprintf("cannot read %s: %v", asked.what, err), Hint: "Ask it on the command line: " + asked.command}
}

// within calls f with the executor of a stream, and closes the stream.
func within(ctx context.Context, stream io.ReadWriteCloser, f func(context.Context, *wire.Client) error) error {
	x, err := wire.Dial(ctx, stream, wire.Options{MaxMessage: maxRun})
	if err != nil {
		return err
	}
	defer x.Close()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })() // an agent need not obey a cancelled call
	return f(ctx, x)
}

// Run asks the agent of a target for a run. Without diffs, the executor does not send differences of content.
func (e *Opener) Run(ctx context.Context, by access.Principal, id fleet.TargetID, run int,
	diffs bool) (doc rundoc.Run, err error) {
	target := ""
	err = e.ask(ctx, by, id, func(name string) question {
		target = name
		return question{fmt.Sprintf("run %d", run), fmt.Sprintf("fettle show -t %s %d", name, run), diffs}
	}, func(ctx context.Context, x *wire.Client) error {
		d, found, err := executor.ReadRun(ctx, x, run, diffs)
		if err != nil && !found {
			return &document.Problem{Title: "There is no such run", Status: 404,
				Detail: fmt.Sprintf("cannot find run %d in the journal of %s: it never existed, or its data was removed", run,
					target),
				Hint: "List the runs: fettle log -t " + target}
		}
		doc = rundoc.Of(d)
		return err
	})
	return doc, err
}

// Journal asks the agent of a target for its runs.
func (e *Opener) Journal(ctx context.Context, by access.Principal, id fleet.TargetID, offset,
	limit int) (doc rundoc.Runs, err error) {
	err = e.ask(ctx, by, id, func(name string) question {
		return question{"the runs", "fettle log -t " + name, false}
	}, func(ctx context.Context, x *wire.Client) error {
		all, err := x.Runs(ctx)
		doc = rundoc.Page(all, offset, limit)
		return err
	})
	return doc, err
}

// Drift lets the agent of a target compare the host with its applied state.
func (e *Opener) Drift(ctx context.Context, by access.Principal, id fleet.TargetID,
	diffs bool) (doc rundoc.Plan, err error) {
	err = e.ask(ctx, by, id, func(name string) question {
		return question{"the drift", "fettle drift -t " + name, diffs}
	}, func(ctx context.Context, x *wire.Client) error {
		p, err := x.Drift(ctx, executor.DriftOptions{Diffs: diffs})
		doc = planDoc(rundoc.DriftFormat, p)
		return err
	})
	return doc, err
}

// PlanRollback lets the agent of a target plan a rollback to a run; 0 is the origin.
func (e *Opener) PlanRollback(ctx context.Context, by access.Principal, id fleet.TargetID, run int,
	diffs bool) (doc rundoc.Plan, err error) {
	err = e.ask(ctx, by, id, func(name string) question {
		return question{"the plan of the rollback", fmt.Sprintf("fettle rollback -t %s %d", name, run), true}
	}, func(ctx context.Context, x *wire.Client) error {
		p, err := x.PlanRollback(ctx, executor.RollbackRequest{To: run, Diffs: diffs})
		doc = planDoc(rundoc.PlanFormat, p)
		return err
	})
	return doc, err
}

// planDoc returns a plan as a document. Without applied content, there is no plan, and the document is empty.
func planDoc(format string, p *plan.Plan) rundoc.Plan {
	if p == nil {
		p = &plan.Plan{}
	}
	return *rundoc.PlanOf(format, p)
}
