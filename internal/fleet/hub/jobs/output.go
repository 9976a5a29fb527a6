package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// jobOutput is the output of a program on one target.
type jobOutput struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

func resultKey(jobID string, id fleet.TargetID) string { return jobID + "/" + string(id) }

// OnAnswer stores the result of a job that an agent had accepted. The result is durable when it
// returns nil. It drops a result for which no job waits.
func (q *Queue) OnAnswer(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := q.Trusted(ctx, from); err != nil {
		return nil, err
	}
	body, err := q.decompressor.Decompress(body, fleet.MaxJobAnswer)
	if err != nil {
		return nil, err
	}
	d, err := fleet.ParseJobAnswer(body)
	if err != nil {
		return nil, err
	}
	a := records.AnswerOf(d, q.Now())
	if d.Accepted {
		return nil, nil
	}
	if waits, err := awaited(ctx, q.Records.Jobs, d.ID, from, a); err != nil || !waits {
		return nil, err
	}
	if a.HasOutput {
		text, err := json.Marshal(jobOutput{d.Result.Stdout, d.Result.Stderr})
		if err == nil {
			_, err = q.Records.Buckets["results"].Put(ctx, resultKey(d.ID, from), text)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot store the output of the job: %w", err)
		}
	}
	f := q.dispatcher.note(d.ID, from, a)
	select {
	case <-f.done:
		return nil, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// awaited reports whether a job waits for an answer of a target. An agent deletes an answer that a
// hub has acknowledged, and the mirror of this hub may be behind the store. So if the mirror does
// not have the job, the store must prove that the job does not exist.
func awaited(ctx context.Context, jobs *records.Mirror[records.Job], id string, from fleet.TargetID,
	a records.JobAnswer) (bool, error) {
	r, _, ok := jobs.Get(id)
	if ok {
		return r.Takes(from, a), nil
	}
	e, err := jobs.Entry(ctx, id)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return false, jobs.Absent(ctx, id)
	case err != nil:
		return false, err
	}
	if r, err = jobs.Parse(e.Value); err != nil {
		return false, nil // no hub can read this job, and the mirror reports it
	}
	return r.Takes(from, a), nil
}

// CancelJob cancels a job for the targets that have not started it.
func (q *Queue) CancelJob(ctx context.Context, by api.Caller, at route.JobID, _ document.ReasonRequest) error {
	id := at.Job
	r, err := q.Records.Jobs.Change(ctx, id, func(r *records.Job) error {
		if err := q.mayCancel(ctx, by.Name, *r); err != nil {
			return err
		}
		begun := slices.ContainsFunc(slices.Collect(maps.Values(r.Answers)),
			func(a records.JobAnswer) bool { return a.Accepted })
		if r.CancelledBy != "" || !r.Open(q.Now().Unix()) && !begun {
			return &api.Refusal{Status: api.Conflict,
				Why:  fmt.Sprintf("cannot cancel the job %s: no agent can still start it", id),
				Hint: "See its results: fettle job show " + id}
		}
		r.Cancel(by.Name, q.Now())
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return noJob(id)
	}
	if err != nil {
		return err
	}
	return q.Events.Record(ctx, fleet.HubEvent{Kind: fleet.JobChanged, By: by.Name, Text: "cancelled: " + r.Title()})
}

// maxOutputs limits the targets of a job whose output is shown. Failed targets have priority.
const maxOutputs = 100

// addOutputs adds the output of programs. It marks omitted outputs with Cut.
func (q *Queue) addOutputs(ctx context.Context, r records.Job, d *document.Job) error {
	unread := false // the store does not answer: the job is shown without outputs
	var order []int
	for i, a := range d.Targets {
		if r.Answers[a.ID].HasOutput {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(isWell(d.Targets[a].State), isWell(d.Targets[b].State))
	})
	for n, i := range order {
		t := &d.Targets[i]
		if n >= maxOutputs || unread {
			t.Cut = true
			continue
		}
		e, err := q.resultOf(ctx, r, t.ID)
		unread = errors.Is(err, fleet.ErrNoAnswer)
		var s jobOutput
		if err == nil {
			err = json.Unmarshal(e.Value, &s)
		}
		if err != nil && !errors.Is(err, fleet.ErrNotFound) && !unread {
			return fmt.Errorf("cannot read the output of a job: %w", err)
		}
		t.Cut = err != nil
		t.Result.Stdout, t.Result.Stderr = s.Stdout, s.Stderr
	}
	return nil
}

func (q *Queue) resultOf(ctx context.Context, r records.Job, id fleet.TargetID) (fleet.Entry, error) {
	ctx, stop := context.WithTimeout(ctx, records.StatusTimeout/2)
	defer stop()
	return q.Records.Buckets["results"].Get(ctx, resultKey(r.ID, id))
}

func isWell(is document.JobState) int {
	if is == document.JobDone {
		return 1
	}
	return 0
}

// forget removes a job and its output.
func (q *Queue) forget(ctx context.Context, r records.Job) error {
	for id, a := range r.Answers {
		if !a.HasOutput {
			continue
		}
		if err := q.Records.Buckets["results"].Delete(ctx, resultKey(r.ID, id), 0); err != nil &&
			!errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return q.Records.Jobs.Remove(ctx, r.ID)
}
