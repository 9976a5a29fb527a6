package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// connect listens to what hubs say.
func (a *Agent) connect() error {
	l := a.cfg.Link
	err := errors.Join(
		l.Serve(fleet.WordAssigned, a.onAssigned),
		l.Serve(fleet.WordJob, a.onDo),
		l.Serve(fleet.WordShow, a.onShow),
	)
	if a.cfg.Serve != nil {
		err = errors.Join(err, l.ServeStreams(fleet.WordExecutor, a.cfg.Serve))
	}
	if err != nil {
		return fmt.Errorf("cannot listen to hubs: %w", err)
	}
	ups := make(chan bool, 1)
	l.Changes(func(up bool) { newest(ups, up) })
	a.ups = ups
	return nil
}

// newest puts a value into a channel with room for one, in the place of one that nobody
// took: only how it is now counts. It is called from one goroutine at a time.
func newest(c chan bool, v bool) {
	for {
		select {
		case c <- v:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

func (a *Agent) onAssigned(ctx context.Context, body []byte) ([]byte, error) {
	a.offer(ctx, body)
	return nil, nil
}

func (a *Agent) onShow(context.Context, []byte) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.envelope, nil
}

// onDo takes a request, and answers when it is durable that it was taken.
func (a *Agent) onDo(ctx context.Context, body []byte) ([]byte, error) {
	d, err := fleet.ParseJob(body)
	switch {
	case err != nil && d.ID == "":
		return nil, err
	case err != nil:
		return json.Marshal(fleet.JobAnswer{ID: d.ID, Error: err.Error()})
	}
	if d.What == fleet.JobFetchRevocations {
		return a.fetchRevocations(ctx, d)
	}
	answer := make(chan fleet.JobAnswer, 1)
	a.mu.Lock()
	a.waiting[d.ID] = append(a.waiting[d.ID], answer)
	a.mu.Unlock()
	a.post(ctx, machine.JobReceived{Job: d})
	select {
	case done := <-answer:
		return json.Marshal(done)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fetchRevocations fetches the revocation lists, and answers when services of this host can read
// them. Until then the hub repeats the job.
func (a *Agent) fetchRevocations(ctx context.Context, d fleet.Job) ([]byte, error) {
	done := fleet.JobAnswer{ID: d.ID}
	if a.cfg.FetchRevocations == nil {
		done.Error = "this machine keeps no lists of certificates"
		return json.Marshal(done)
	}
	if err := a.cfg.FetchRevocations(ctx, d.Arg); err != nil {
		return nil, err
	}
	return json.Marshal(done)
}

// answer tells whoever waits for a request that it was taken.
func (a *Agent) answer(d fleet.JobAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waiting[d.ID] {
		w <- d // it has room for one
	}
	delete(a.waiting, d.ID)
}
