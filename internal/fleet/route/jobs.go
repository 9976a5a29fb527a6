package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// JobID names a job.
type JobID struct {
	Job string `path:"job"`
}

// Page selects a part of a list. The limit 0 means the largest page.
type Page struct {
	Offset int `query:"offset" does:"skip this number of items"`
	Limit  int `query:"limit" does:"return at most this number of items"`
}

func ofJobs() []Row { return []Row{Jobs().Row, Job().Row, CreateJob().Row, CancelJob().Row} }

// Jobs returns a page of the stored jobs.
func Jobs() (r Route[Page, None, document.JobPage]) {
	return r.get(access.Read, "/v1/jobs", "List the jobs of agents, newest first").perTarget()
}

// Job returns one job and its acknowledgements.
func Job() (r Route[JobID, None, document.Job]) {
	return r.get(access.Read, "/v1/jobs/{job}", "Show one job, and the agents that acknowledged it").perTarget()
}

// CreateJob stores a job until each agent has acknowledged it.
func CreateJob() (r Route[None, document.JobRequest, document.Job]) {
	return r.post(access.Operate, "/v1/jobs", "Create a job: agents apply, verify, report or run a program; "+
		"the hub stores the job for offline agents").perTarget()
}

// CancelJob cancels a job for agents that have not started it.
func CancelJob() (r Route[JobID, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/jobs/{job}/cancel", "Cancel a job for agents that have not started it").perTarget()
}
