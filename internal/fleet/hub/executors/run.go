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
)

// readWithin is the time for the complete answer of an agent about a run.
const readWithin = 15 * time.Second

// errSlow is the cause of the end of a question whose time is over.
var errSlow = errors.New("its agent did not answer in time")

// Run asks the agent of a target for a run. The answer of an agent is not trusted: its size and its time are limited.
// Without diffs, the executor does not send differences of content.
func (e *Opener) Run(ctx context.Context, by access.Principal, id fleet.TargetID, run int,
	diffs bool) (doc rundoc.Run, err error) {
	t, err := e.Trusted(ctx, id)
	if err != nil {
		return doc, err
	}
	leave, err := e.reads.enter(by.Name)
	if err != nil {
		return doc, err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, readWithin, errSlow)
	defer cancel()
	stream, err := e.OpenExecutor(ctx, by, id, diffs)
	if err != nil {
		return doc, err
	}
	d, found, err := readRun(ctx, stream, run, diffs)
	switch {
	case err == nil:
		return rundoc.Of(d), nil
	case errors.Is(context.Cause(ctx), errSlow):
		return doc, silentTarget(t.Name, e.MissingHubs(ctx))
	case !found:
		return doc, &document.Problem{Title: "There is no such run", Status: 404,
			Detail: fmt.Sprintf("cannot find run %d in the journal of %s: it never existed, or its data was removed", run,
				t.Name),
			Hint: "List the runs: fettle log -t " + t.Name}
	}
	return doc, &document.Problem{Title: "The agent of " + t.Name + " cannot answer", Status: 502,
		Detail: fmt.Sprintf("cannot read run %d: %v", run, err),
		Hint:   fmt.Sprintf("Ask it on the command line: fettle show -t %s %d", t.Name, run)}
}

// readRun reads a run from a stream to an executor, and closes the stream. found is false if the target does not have
// the run.
func readRun(ctx context.Context, stream io.ReadWriteCloser, run int,
	diffs bool) (d executor.RunDetails, found bool, err error) {
	x, err := wire.Dial(ctx, stream, wire.Options{MaxMessage: maxRun})
	if err != nil {
		return d, true, err
	}
	defer x.Close()
	defer context.AfterFunc(ctx, func() { _ = stream.Close() })() // an agent need not obey a cancelled call
	return executor.ReadRun(ctx, x, run, diffs)
}
