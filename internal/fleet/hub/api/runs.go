package api

import (
	"context"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/route"
)

// Runs reads the journals of targets. If a target is offline, the error is fleet.ErrOffline. With diffs, a document has
// the differences of text content.
type Runs interface {
	// Run asks the agent of a target for a run. If it does not have the run, the error is a problem with the status 404.
	Run(ctx context.Context, by access.Principal, id fleet.TargetID, run int, diffs bool) (rundoc.Run, error)
	// Journal asks the agent of a target for its runs. A limit of 0 returns all of them.
	Journal(ctx context.Context, by access.Principal, id fleet.TargetID, offset, limit int) (rundoc.Runs, error)
}

// Comparisons compare the hosts of targets. Errors and diffs are as for Runs.
type Comparisons interface {
	// Drift compares the host of a target with its applied state.
	Drift(ctx context.Context, by access.Principal, id fleet.TargetID, diffs bool) (rundoc.Plan, error)
	// PlanRollback plans a rollback to a run; 0 is the origin.
	PlanRollback(ctx context.Context, by access.Principal, id fleet.TargetID, run int, diffs bool) (rundoc.Plan, error)
}

// HandleRuns registers the handlers that ask the agent of a target.
func HandleRuns(t *Table, b interface {
	Runs
	Comparisons
}) {
	handleCall(t, route.Run(), func(c *call, at route.TargetRun) (any, error) {
		secret := ""
		if at.Diff {
			secret = fmt.Sprintf("run %d with differences of content", at.Run)
		}
		return c.onHost(t, at.Target, secret, func(ctx context.Context, id fleet.TargetID) (any, error) {
			return b.Run(ctx, c.who, id, at.Run, at.Diff)
		})
	})
	handleCall(t, route.Runs(), func(c *call, at route.RunsQuery) (any, error) {
		return c.onHost(t, at.Target, "", func(ctx context.Context, id fleet.TargetID) (any, error) {
			return b.Journal(ctx, c.who, id, at.Offset, at.Limit)
		})
	})
	handleCall(t, route.Drift(), func(c *call, at route.TargetDrift) (any, error) {
		secret := ""
		if at.Diff {
			secret = "drift with differences of content"
		}
		return c.onHost(t, at.Target, secret, func(ctx context.Context, id fleet.TargetID) (any, error) {
			return b.Drift(ctx, c.who, id, at.Diff)
		})
	})
	handleCall(t, route.RollbackPlan(), func(c *call, at route.TargetRun) (any, error) {
		return c.onHost(t, at.Target, fmt.Sprintf("plan of a rollback to run %d", at.Run),
			func(ctx context.Context, id fleet.TargetID) (any, error) {
				return b.PlanRollback(ctx, c.who, id, at.Run, at.Diff)
			})
	})
}

// onHost reads from the host of a target. If secret is not "", the answer is secret from readers, because it can have
// the content of files. Then the call needs the right operate, and is recorded in the audit log with this text.
func (c *call) onHost(t *Table, name, secret string,
	read func(context.Context, fleet.TargetID) (any, error)) (any, error) {
	readTarget := func() (any, error) {
		target, err := c.workable(t, name)
		if err != nil {
			return nil, err
		}
		return read(c.r.Context(), target.ID)
	}
	if secret == "" {
		return readTarget()
	}
	c.audited = true
	if err := c.need(access.Operate); err != nil {
		return nil, err
	}
	c.route.Right = access.Operate // this call needs more than its route
	c.limit(access.Operate)
	if err := c.audit(access.Begun, secret); err != nil {
		return nil, fail(http.StatusServiceUnavailable, "The audit log cannot be written, so no content is shown",
			fmt.Sprintf("cannot write the audit log: %v", err), "See the cause: fettle status --fleet")
	}
	doc, err := c.unlessUnread(readTarget)
	outcome := access.Done
	if err != nil {
		outcome = err.Error()
	}
	_ = c.audit(outcome, "") // the record of the request exists already
	return doc, err
}
