package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// jobOutput is the output of a program on one target.
type jobOutput struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

func resultKey(jobID string, id fleet.TargetID) string { return jobID + "/" + string(id) }

// onJobAnswer stores the result of a job that an agent had accepted. The result is durable when it
// returns nil. It drops a result for which no job waits.
func (h *Hub) onJobAnswer(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := h.trusted(ctx, from); err != nil {
		return nil, err
	}
	body, err := h.reports.Decompress(body, fleet.MaxJobAnswer)
	if err != nil {
		return nil, err
	}
	d, err := fleet.ParseJobAnswer(body)
	if err != nil {
		return nil, err
	}
	a := answerOf(d, h.now())
	if d.Accepted {
		return nil, nil
	}
	if waits, err := awaited(ctx, h.jobs, d.ID, from, a); err != nil || !waits {
		return nil, err
	}
	if a.HasOutput {
		text, err := json.Marshal(jobOutput{d.Result.Stdout, d.Result.Stderr})
		if err == nil {
			_, err = h.stores["results"].Put(ctx, resultKey(d.ID, from), text)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot store the output of the job: %w", err)
		}
	}
	f := h.jobDispatcher.note(d.ID, from, a)
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
func awaited(ctx context.Context, jobs *mirror[Job], id string, from fleet.TargetID, a JobAnswer) (bool, error) {
	r, _, ok := jobs.get(id)
	if ok {
		return r.takes(from, a), nil
	}
	e, err := jobs.store.Get(ctx, jobs.prefix+id)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return false, absent(ctx, jobs.store, jobs.prefix+id)
	case err != nil:
		return false, err
	}
	if r, err = jobs.parse(e.Value); err != nil {
		return false, nil // no hub can read this job, and the mirror reports it
	}
	return r.takes(from, a), nil
}

// CancelJob cancels a job for the targets that have not started it.
func (h *Hub) CancelJob(ctx context.Context, by access.Principal, id string) error {
	r, err := h.jobs.change(ctx, id, func(r *Job) error {
		begun := slices.ContainsFunc(slices.Collect(maps.Values(r.Answers)), func(a JobAnswer) bool { return a.Accepted })
		if r.CancelledBy != "" || !r.open(h.now().Unix()) && !begun {
			return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot cancel the job %s: no agent can still start it", id),
				Hint: "See its results: fettle job show " + id}
		}
		r.cancel(by.Name, h.now())
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return noJob(id)
	}
	if err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.JobChanged, By: by.Name, Text: "cancelled: " + r.title()})
}

func noJob(id string) error {
	return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the job %.40q", id), Hint: "List the jobs: fettle job list"}
}

// maxOutputs limits the targets of a job whose output is shown. Failed targets have priority.
const maxOutputs = 100

// addOutputs adds the output of programs. It marks omitted outputs with Cut.
func (h *Hub) addOutputs(ctx context.Context, r Job, d *document.Job) error {
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
		e, err := h.resultOf(ctx, r, t.ID)
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

func (h *Hub) resultOf(ctx context.Context, r Job, id fleet.TargetID) (fleet.Entry, error) {
	ctx, stop := context.WithTimeout(ctx, lookFor/2)
	defer stop()
	return h.stores["results"].Get(ctx, resultKey(r.ID, id))
}

func isWell(is document.JobState) int {
	if is == document.JobDone {
		return 1
	}
	return 0
}

// forgetJob removes a job and its output.
func (h *Hub) forgetJob(ctx context.Context, r Job) error {
	for id, a := range r.Answers {
		if !a.HasOutput {
			continue
		}
		if err := h.stores["results"].Delete(ctx, resultKey(r.ID, id), 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return h.jobs.remove(ctx, r.ID)
}
