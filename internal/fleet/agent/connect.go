package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// connect registers the handlers for requests of hubs.
func (a *Agent) connect() error {
	l := a.cfg.Link
	err := errors.Join(
		l.Serve(fleet.MessageAssigned, a.onAssigned),
		l.Serve(fleet.MessageJob, a.onDo),
		l.Serve(fleet.MessageShow, a.onShow),
	)
	if a.cfg.Serve != nil {
		err = errors.Join(err, l.ServeStreams(fleet.MessageExecutor, a.cfg.Serve))
	}
	if err != nil {
		return fmt.Errorf("cannot accept requests of hubs: %w", err)
	}
	ups := make(chan bool, 1)
	l.Changes(func(up bool) { newest(ups, up) })
	a.ups = ups
	return nil
}

// newest sends v to a channel with a buffer of one. If the buffer contains an older value, v
// replaces it, because only the newest value matters. newest must not be called concurrently.
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

// onDo handles a job of a hub. It answers after the job is stored durably or refused.
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
		done.Error = "this agent manages no certificates of services, so it stores no revocation lists"
		return json.Marshal(done)
	}
	if err := a.cfg.FetchRevocations(ctx, d.Arg); err != nil {
		return nil, err
	}
	return json.Marshal(done)
}

// answer sends the acknowledgement of a job to all requests of hubs that wait for it.
func (a *Agent) answer(d fleet.JobAnswer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waiting[d.ID] {
		w <- d // does not block: each channel has a buffer of one
	}
	delete(a.waiting, d.ID)
}
