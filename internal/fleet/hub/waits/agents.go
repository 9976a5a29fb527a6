package waits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
)

// OnWait answers a request of an agent. The connection has authenticated the target.
func (w *Waits) OnWait(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	t, err := w.Trusted(ctx, from)
	if err != nil {
		return nil, err
	}
	r, err := fleet.ParseWaitRequest(body)
	if err != nil {
		return nil, err
	}
	if ok, _ := w.limiter.Take(from, w.Now()); !ok {
		return nil, fmt.Errorf("cannot answer: the target sends more than %d requests, and then one in %s", requestBurst,
			requestInterval)
	}
	if err := w.MayChange(); err != nil {
		return nil, err
	}
	var answer fleet.WaitAnswer
	switch r.Action {
	case fleet.WaitArrive, fleet.WaitWithdraw:
		answer, err = w.arrive(ctx, t, r)
	case fleet.WaitSignal:
		answer, err = w.wait(ctx, r)
	case fleet.SendSignal:
		answer, err = w.sendFrom(ctx, t, r)
	}
	if errors.Is(err, ErrUnknown) {
		answer, err = fleet.WaitAnswer{Why: err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// arrive lets a target arrive at a barrier, or withdraws its arrival.
func (w *Waits) arrive(ctx context.Context, t fleet.Target, r fleet.WaitRequest) (out fleet.WaitAnswer, err error) {
	if err := barrier.CheckRun(r.Run); err != nil {
		return out, err
	}
	s, _, err := w.barriers().read(ctx, r.Name)
	if err != nil {
		return out, err
	}
	kind := barrier.Arrive
	if r.Action == fleet.WaitWithdraw {
		kind = barrier.Withdraw
	}
	e, err := w.event(ctx, s.Definition, kind)
	if err != nil {
		return out, err
	}
	e.Target, e.Run, e.Order = string(t.ID), r.Run, r.Order
	_, a, err := w.barriers().apply(ctx, w.Now, r.Name, e, false, order{})
	if err != nil {
		return out, err
	}
	out = fleet.WaitAnswer{Done: a.Open, Generation: a.Generation}
	if kind == barrier.Arrive {
		out.Why = a.Explain(r.Name)
	}
	return out, nil
}

// wait answers whether a signal was sent.
func (w *Waits) wait(ctx context.Context, r fleet.WaitRequest) (fleet.WaitAnswer, error) {
	s, _, err := w.signals().read(ctx, r.Name)
	if err != nil {
		return fleet.WaitAnswer{}, err
	}
	now, since := w.Now(), int64(0)
	if r.Age > 0 {
		since = now.Add(-time.Duration(r.Age)).UnixMilli()
	}
	sent, ok := s.Newest(since, now.UnixMilli())
	switch {
	case s.Undeclared:
		return fleet.WaitAnswer{Why: signal.Answer{Undeclared: true}.Explain(r.Name)}, nil
	case !ok:
		return fleet.WaitAnswer{Why: "the signal " + r.Name + " was not sent"}, nil
	}
	return fleet.WaitAnswer{Done: true, Payload: sent.Payload}, nil
}

// sendFrom sends a signal of a target.
func (w *Waits) sendFrom(ctx context.Context, t fleet.Target, r fleet.WaitRequest) (fleet.WaitAnswer, error) {
	s, _, err := w.signals().read(ctx, r.Name)
	if err != nil {
		return fleet.WaitAnswer{}, err
	}
	if !s.Undeclared && !s.Permits(t.Name) {
		return fleet.WaitAnswer{Why: "the target " + t.Name + " cannot send the signal " + r.Name}, nil
	}
	a, err := w.send(ctx, r.Name, signal.Event{Sender: string(t.ID), Payload: r.Payload})
	return fleet.WaitAnswer{Done: err == nil && !a.Undeclared, Why: a.Explain(r.Name)}, err
}

// send sends a signal.
func (w *Waits) send(ctx context.Context, name string, e signal.Event) (signal.Answer, error) {
	if err := signal.CheckPayload(e.Payload); err != nil {
		return signal.Answer{}, err
	}
	e.Kind = signal.Send
	by := order{}
	if e.User {
		by.by = e.Sender
	}
	_, a, err := w.signals().apply(ctx, w.Now, name, e, false, by)
	return a, err
}
