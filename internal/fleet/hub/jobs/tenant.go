package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// sees reports whether the user of a request sees a job on a target: one within the boundary of the request, since it
// is in its organization.
func (q *Queue) sees(ctx context.Context, r records.Job, id fleet.TargetID) bool {
	b := fleet.BoundaryOf(ctx)
	if b.All() {
		return true
	}
	t, _, ok := q.Records.Targets.Get(string(id))
	return ok && b.Contains(t) && r.At*1e9 >= t.Moved
}

// seesAny reports whether the user of a request sees a job: on at least one target. Jobs of tasks belong to scopes,
// which organizations share.
func (q *Queue) seesAny(ctx context.Context, r records.Job) bool {
	if fleet.BoundaryOf(ctx).All() {
		return true
	}
	sees := func(id fleet.TargetID) bool { return q.sees(ctx, r, id) }
	return r.Task == nil && (slices.ContainsFunc(r.Pending, sees) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(r.Answers)), sees))
}

// noJob returns the refusal for a job that does not exist for the user.
func noJob(id string) error {
	return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the job %.40q", id),
		Hint: "List the jobs: fettle job list"}
}

// mayCancel returns a refusal unless the user of a request sees a job, and its creator belongs to the organization.
// With the right for only some targets, users can cancel only their own jobs: other jobs can have targets outside of
// this right.
func (q *Queue) mayCancel(ctx context.Context, by string, r records.Job) error {
	if !q.seesAny(ctx, r) {
		return noJob(r.ID)
	}
	b := fleet.BoundaryOf(ctx)
	if b.Limited && r.By != by {
		return &api.Refusal{Status: 403, Why: fmt.Sprintf("cannot cancel the job %s: another user created it", r.ID),
			Hint: "Ask an operator with the right operate for all of its targets"}
	}
	if b.Organization.Contains(r.Organization) {
		return nil
	}
	return &api.Refusal{Status: 403, Why: fmt.Sprintf("cannot cancel the job %s: no user of your organization created it",
		r.ID), Hint: "Ask an operator of the fleet"}
}
