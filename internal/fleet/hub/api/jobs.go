package api

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// longestJob limits how long a job may wait for agents.
const longestJob = 90 * 24 * time.Hour

// checkJob checks a new job.
func checkJob(r document.JobRequest) error {
	kinds := []string{fleet.JobApply, fleet.JobVerify, fleet.JobReport, fleet.JobRun}
	switch {
	case !slices.Contains(kinds, r.What):
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot create a job of the kind %.40q", r.What), "Use apply, verify, report or run"}
	case len(r.Select) == 0:
		return &Refusal{http.StatusBadRequest, "cannot create a job: no agent is selected", "Select all agents: -t '*'"}
	case r.Expires < 0 || time.Duration(r.Expires) > longestJob:
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot store a job for %s", time.Duration(r.Expires)),
			"Omit it for one week, or use up to 90 days"}
	}
	if (r.What == fleet.JobRun) != (r.Run != nil) {
		return &Refusal{http.StatusBadRequest, "cannot read the program: only a job of the kind run has a program, and it must have one", "Write: fettle job run -t SELECTION -- PROGRAM"}
	}
	if len(r.Signed) > fleet.MaxSignedJob || r.Signed != "" && r.Run == nil {
		return &Refusal{http.StatusBadRequest, fmt.Sprintf("cannot accept a signature for this job: only run has one, of at most %d bytes", fleet.MaxSignedJob), "Select fewer targets, or shorten the command"}
	}
	if r.Run != nil {
		if err := r.Run.Check(); err != nil {
			return &Refusal{http.StatusBadRequest, err.Error(), ""}
		}
	}
	return nil
}

func (c *call) cancelJob() (any, error) {
	return done("The job %s is cancelled for agents that have not started it.", c.path["job"])(c.h.Backend.CancelJob(c.r.Context(), c.who, c.path["job"]))
}

func (c *call) jobs() (any, error) {
	offset, limit, err := c.page()
	if err != nil {
		return nil, err
	}
	page, err := c.h.Backend.Jobs(c.r.Context(), offset, limit)
	for i, r := range page.Jobs {
		page.Jobs[i] = formedJob(r)
	}
	page.Format, page.Jobs = document.JobPageFormat, append([]document.Job{}, page.Jobs...)
	return page, err
}

func formedJob(r document.Job) document.Job {
	r.Format = document.JobFormat
	if r.Targets == nil {
		r.Targets = []document.JobTarget{}
	}
	return r
}

func (c *call) job() (any, error) {
	r, err := c.h.Backend.Job(c.r.Context(), c.path["job"])
	return formedJob(r), err
}

// active returns the active targets of a selection. If there are none, it returns a Refusal with
// the operation in job.
func (c *call) active(words []string, job string) ([]fleet.TargetID, error) {
	page, err := c.h.Backend.Targets(c.r.Context(), view.TargetQuery{Select: words, Now: c.h.Now()})
	if err != nil {
		return nil, err
	}
	var ids []fleet.TargetID
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil, &Refusal{http.StatusConflict, "cannot " + job + " any of the selected targets: none is active",
			"See the states of targets: fettle target list"}
	}
	return ids, nil
}

// createJob creates a job for agents. A missing selection is an error and does not mean all agents.
func (c *call) createJob() (any, error) {
	r := *c.in.(*document.JobRequest)
	if err := checkJob(r); err != nil {
		return nil, err
	}
	ids, err := c.active(r.Select, "create a job for")
	if err != nil {
		return nil, err
	}
	answer, err := c.h.Backend.CreateJob(c.r.Context(), c.who, r, ids)
	return formedJob(answer), err
}
