package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// jobLifetime is the time that a job waits for offline agents by default.
const jobLifetime = 7 * 24 * time.Hour

// CreateJob stores a job until each target has acknowledged it, or it expires.
func (h *Hub) CreateJob(ctx context.Context, by access.Principal, job document.JobRequest, targets []fleet.TargetID) (document.Job, error) {
	pending := slices.Compact(slices.Sorted(slices.Values(targets)))
	now := h.now()
	life := cmp.Or(time.Duration(job.Expires), jobLifetime)
	r := Job{
		Job:     fleet.Job{ID: newID(), What: job.What, Arg: job.Arg, Run: job.Run, Signed: job.Signed, By: by.Name, At: now.Unix()},
		Pending: pending, Expires: now.Add(life).Unix(),
	}
	if err := h.record(ctx, fleet.HubEvent{Kind: fleet.JobChanged, By: by.Name, Text: fmt.Sprintf("%s of %s", r.title(), targetCount(len(pending)))}); err != nil {
		return document.Job{}, err
	}
	if err := h.jobs.put(ctx, r.ID, r, 0); err != nil {
		return document.Job{}, fmt.Errorf("cannot store the job: %w", err)
	}
	return h.jobDoc(r), nil
}

func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

// title returns the operation and the first word of the command.
func (r Job) title() string {
	switch {
	case r.Run == nil:
		return r.What
	case r.Run.Action != "":
		return r.What + " " + r.Run.Action
	}
	return r.What + " " + r.Run.Argv[0]
}

// state converts the answer of a target to the state of the job on that target.
func (a JobAnswer) state() document.JobState {
	switch {
	case a.Accepted:
		return document.JobAccepted
	case a.Cancelled:
		return document.JobCancelled
	case a.Interrupted:
		return document.JobInterrupted
	case a.Result != nil && (a.Error != "" || a.Result.Exit != 0 || a.Result.TimedOut):
		return document.JobFailed
	case a.Error != "":
		return document.JobRefused
	}
	return document.JobDone
}

func (h *Hub) jobDoc(r Job) document.Job {
	d := document.Job{
		Format: document.JobFormat, ID: r.ID, What: r.What, By: r.By, At: r.At * 1e9, Run: r.Run,
		Expires: r.Expires * 1e9, CancelledBy: r.CancelledBy, Targets: []document.JobTarget{},
	}
	for _, id := range r.Pending {
		is := document.JobWaits
		if h.now().Unix() >= r.Expires {
			is = document.JobExpired
		}
		d.Targets = append(d.Targets, document.JobTarget{ID: id, State: is})
	}
	for id, a := range r.Answers {
		t := document.JobTarget{ID: id, Done: !a.Accepted, At: a.At * 1e9, Error: a.Error, State: a.state()}
		if a.Result != nil {
			result := *a.Result
			t.Result = &result
		}
		d.Targets = append(d.Targets, t)
	}
	for i, a := range d.Targets {
		t, _, _ := h.targets.get(string(a.ID))
		d.Targets[i].Name = cmp.Or(t.Name, string(a.ID))
	}
	slices.SortFunc(d.Targets, func(a, b document.JobTarget) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return d
}

// Job returns one job with its acknowledgements and the output of programs.
func (h *Hub) Job(ctx context.Context, id string) (document.Job, error) {
	r, _, ok := h.jobs.get(id)
	if !ok {
		return document.Job{}, noJob(id)
	}
	d := h.jobDoc(r)
	return d, h.addOutputs(ctx, r, &d)
}

// Jobs returns a page of the stored jobs, the newest first; limit 0 is the largest page.
func (h *Hub) Jobs(_ context.Context, offset, limit int) (document.JobPage, error) {
	all := h.jobs.values()
	slices.SortFunc(all, func(a, b Job) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	page := document.JobPage{Total: len(all)}
	for _, r := range view.Page(all, offset, limit) {
		page.Jobs = append(page.Jobs, h.jobDoc(r))
	}
	return page, nil
}
