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

// Runs reads the runs of targets.
type Runs interface {
	// Run asks the agent of a target for a run. With diffs, the run has the differences of text content. If the target
	// is offline, the error is fleet.ErrOffline; if it does not have the run, a problem with the status 404.
	Run(ctx context.Context, by access.Principal, id fleet.TargetID, run int, diffs bool) (rundoc.Run, error)
}

// HandleRuns registers the handler of runs.
func HandleRuns(t *Table, b Runs) {
	handleCall(t, route.Run(), func(c *call, at route.TargetRun) (any, error) {
		if !at.Diff {
			return c.targetRun(t, b, at)
		}
		c.audited = true // content of files is secret from readers
		if err := c.need(access.Operate); err != nil {
			return nil, err
		}
		if err := c.audit(access.Begun, fmt.Sprintf("run %d with differences of content", at.Run)); err != nil {
			return nil, fail(http.StatusServiceUnavailable, "The audit log cannot be written, so no content is shown",
				fmt.Sprintf("cannot write the audit log: %v", err), "See the cause: fettle status --fleet")
		}
		doc, err := c.targetRun(t, b, at)
		outcome := access.Done
		if err != nil {
			outcome = err.Error()
		}
		_ = c.audit(outcome, "") // the record of the request exists already
		return doc, err
	})
}

func (c *call) targetRun(t *Table, b Runs, at route.TargetRun) (rundoc.Run, error) {
	target, err := c.workable(t, at.Target)
	if err != nil {
		return rundoc.Run{}, err
	}
	return b.Run(c.r.Context(), c.who, target.ID, at.Run, at.Diff)
}
