package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// jobLifetime is the time that a job waits for offline agents by default.
const jobLifetime = 7 * 24 * time.Hour

// CreateJob stores a job until each target has acknowledged it, or it expires.
func (q *Queue) CreateJob(ctx context.Context, by access.Principal, job document.JobRequest,
	targets []fleet.TargetID) (document.Job, error) {
	r := newRecord(by, job, targets, q.Now())
	if err := q.Events.Record(ctx, fleet.HubEvent{Kind: fleet.JobChanged, By: by.Name,
		Text: fmt.Sprintf("%s of %s", r.Title(), targetCount(len(r.Pending)))}); err != nil {
		return document.Job{}, err
	}
	if err := q.Records.Jobs.Put(ctx, r.ID, r, 0); err != nil {
		return document.Job{}, fmt.Errorf("cannot store the job: %w", err)
	}
	return q.jobDoc(ctx, r), nil
}

// newRecord returns the record of a new job.
func newRecord(by access.Principal, job document.JobRequest, targets []fleet.TargetID, now time.Time) records.Job {
	return records.Job{
		Job: fleet.Job{ID: records.NewID(), What: job.What, Arg: job.Arg, Run: job.Run, Signed: job.Signed,
			By: by.Name, At: now.Unix()},
		Pending:      slices.Compact(slices.Sorted(slices.Values(targets))),
		Expires:      now.Add(cmp.Or(time.Duration(job.Expires), jobLifetime)).Unix(),
		Organization: by.Organization, Granted: by.MayOnSome(access.Operate) && !by.May(access.Operate),
	}
}

func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

func (q *Queue) jobDoc(ctx context.Context, r records.Job) document.Job {
	d := document.Job{
		Format: document.JobFormat, ID: r.ID, What: r.What, By: r.By, At: r.At * 1e9, Run: r.Run,
		Expires: r.Expires * 1e9, CancelledBy: r.CancelledBy, Targets: []document.JobTarget{},
	}
	for _, id := range r.Pending {
		is := document.JobWaits
		if q.Now().Unix() >= r.Expires {
			is = document.JobExpired
		}
		d.Targets = append(d.Targets, document.JobTarget{ID: id, State: is})
	}
	for id, a := range r.Answers {
		t := document.JobTarget{ID: id, Done: !a.Accepted, At: a.At * 1e9, Error: a.Error, State: a.State()}
		if a.Result != nil {
			result := *a.Result
			t.Result = &result
		}
		d.Targets = append(d.Targets, t)
	}
	d.Targets = slices.DeleteFunc(d.Targets, func(t document.JobTarget) bool { return !q.sees(ctx, r, t.ID) })
	for i, a := range d.Targets {
		t, _, _ := q.Records.Targets.Get(string(a.ID))
		d.Targets[i].Name = cmp.Or(t.Name, string(a.ID))
	}
	slices.SortFunc(d.Targets, func(a, b document.JobTarget) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return d
}

// HandleRoutes registers the handlers of stored jobs.
func (q *Queue) HandleRoutes(t *api.Table) {
	api.HandleGetAt(t, route.Jobs(), q.Jobs)
	api.HandleGetAt(t, route.Job(), q.Job)
	api.HandleDone(t, route.CancelJob(), "The job {job} is cancelled for agents that have not started it.", q.CancelJob)
}

// Job returns one job with its acknowledgements and the output of programs.
func (q *Queue) Job(ctx context.Context, at route.JobID) (document.Job, error) {
	r, _, ok := q.Records.Jobs.Get(at.Job)
	if !ok || !q.seesAny(ctx, r) {
		return document.Job{}, noJob(at.Job)
	}
	d := q.jobDoc(ctx, r)
	return d, q.addOutputs(ctx, r, &d)
}

// Jobs returns a page of the stored jobs, the newest first; limit 0 is the largest page.
func (q *Queue) Jobs(ctx context.Context, at route.Page) (document.JobPage, error) {
	all := slices.DeleteFunc(q.Records.Jobs.Values(), func(r records.Job) bool { return !q.seesAny(ctx, r) })
	slices.SortFunc(all, func(a, b records.Job) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	page := document.JobPage{Format: document.JobPageFormat, Total: len(all), Jobs: []document.Job{}}
	for _, r := range view.Page(all, at.Offset, at.Limit) {
		page.Jobs = append(page.Jobs, q.jobDoc(ctx, r))
	}
	return page, nil
}

// Prune removes old jobs that wait for no answers. All hubs do so: the first one wins.
func (q *Queue) Prune(ctx context.Context) error {
	now := q.Now()
	for _, r := range q.Records.Jobs.Values() {
		if r.Open(now.Unix()) || now.Sub(r.Ended()) < q.Keep {
			continue
		}
		if err := q.forget(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
