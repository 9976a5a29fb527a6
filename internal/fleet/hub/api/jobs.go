package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// Jobs are the jobs for agents.
type Jobs interface {
	// CreateJob stores a job until the agent of each target has acknowledged it, or it expires. The
	// caller has checked the job and evaluated its selection.
	CreateJob(ctx context.Context, by access.Principal, r document.JobRequest,
		targets []fleet.TargetID) (document.Job, error)
}

// HandleJobs registers the handler that creates jobs.
func HandleJobs(t *Table, b Jobs) {
	HandlePost(t, route.CreateJob(), func(ctx context.Context, c Caller, r document.JobRequest) (document.Job, error) {
		return t.createJob(ctx, c, r, b)
	})
}

// longestJob limits how long a job may wait for agents.
const longestJob = 90 * 24 * time.Hour

// checkJob checks a new job.
func checkJob(r document.JobRequest) error {
	kinds := []string{fleet.JobApply, fleet.JobVerify, fleet.JobReport, fleet.JobRun}
	switch {
	case !slices.Contains(kinds, r.What):
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot create a job of the kind %.40q", r.What),
			"Use apply, verify, report or run"}
	case len(r.Select) == 0:
		return &Refusal{http.StatusBadRequest, "cannot create a job: no agent is selected", "Select all agents: -t '*'"}
	case r.Expires < 0 || time.Duration(r.Expires) > longestJob:
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot store a job for %s", time.Duration(r.Expires)),
			"Omit it for one week, or use up to 90 days"}
	}
	if (r.What == fleet.JobRun) != (r.Run != nil) {
		return &Refusal{http.StatusBadRequest,
			"cannot read the program: only a job of the kind run has a program, and it must have one",
			"Write: fettle job run -t SELECTION -- PROGRAM"}
	}
	if len(r.Signed) > fleet.MaxSignedJob || r.Signed != "" && r.Run == nil {
		return &Refusal{http.StatusBadRequest,
			fmt.Sprintf("cannot accept a signature for this job: only run has one, of at most %d bytes", fleet.MaxSignedJob),
			"Select fewer targets, or shorten the command"}
	}
	if r.Run != nil {
		if err := r.Run.Check(); err != nil {
			return &Refusal{http.StatusBadRequest, err.Error(), ""}
		}
	}
	return nil
}

// active returns the active targets of a selection. If there are none, it returns a Refusal with the operation in job.
// It also does so if the user can read some of them, but not change them: an operation must not silently omit selected
// targets.
func (t *Table) active(ctx context.Context, c Caller, words []string, job string) ([]fleet.TargetID, error) {
	b := fleet.BoundaryOf(ctx)
	if b.Limited {
		ctx = fleet.WithBoundary(ctx, c.Boundary(access.Read))
	}
	page, err := t.targets.Targets(ctx, view.TargetQuery{Select: words, Now: c.Now})
	if err != nil {
		return nil, err
	}
	if page.Cursor != "" {
		return nil, &Refusal{http.StatusConflict,
			fmt.Sprintf("cannot %s more than %d targets at the same time", job, view.MaxPage),
			"Select fewer targets: fettle target list --by label:NAME"}
	}
	all := 0
	var ids []fleet.TargetID
	for _, d := range page.Targets {
		if d.Standing != fleet.Active {
			continue
		}
		all++
		if b.Contains(fleet.Target{ID: d.ID, Organization: d.Organization, Labels: d.Labels}) {
			ids = append(ids, d.ID)
		}
	}
	if all == 0 {
		return nil, &Refusal{http.StatusConflict, "cannot " + job + " any of the selected targets: none is active",
			"See the states of targets: fettle target list"}
	}
	if all > len(ids) {
		return nil, &Refusal{http.StatusForbidden, fmt.Sprintf(
			"cannot %s all of the selected targets: you have the right %q for %d of %d of them", job, c.Right, len(ids), all),
			"Select only targets for which you have the right: fettle user show"}
	}
	return ids, nil
}

// createJob creates a job for agents. A missing selection is an error and does not mean all agents.
func (t *Table) createJob(ctx context.Context, c Caller, r document.JobRequest, b Jobs) (document.Job, error) {
	if err := checkJob(r); err != nil {
		return document.Job{}, err
	}
	ids, err := t.active(ctx, c, r.Select, "create a job for")
	if err != nil {
		return document.Job{}, err
	}
	return b.CreateJob(ctx, c.Principal, r, ids)
}
