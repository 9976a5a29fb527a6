package check

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/step"
)

// Fleet asks the hubs of the fleet through the agent of the host. A Prober can implement it. Request and answer are the
// JSON documents fleet.WaitRequest and fleet.WaitAnswer.
type Fleet interface {
	Fleet(ctx context.Context, request []byte) (answer []byte, err error)
}

// fleetPause is the time between two requests to the fleet, and fleetAttempt the time limit of one.
const (
	fleetPause   = 5 * time.Second
	fleetAttempt = 20 * time.Second
)

// fleetRequest is the request of one step.
type fleetRequest struct {
	Action  string `json:"action"`
	Name    string `json:"name"`
	Run     string `json:"run,omitempty"`
	Age     int64  `json:"age_ns,omitempty"`
	Payload string `json:"payload,omitempty"`
}

// fleetAnswer is the answer that the step needs.
type fleetAnswer struct {
	Done bool   `json:"done"`
	Why  string `json:"why"`
}

// Wait is Run for a WAIT, which can also concern a barrier or a signal of the fleet. age is the time since the begin of
// the run. A target that no longer waits at a barrier withdraws its arrival. If the barrier opened meanwhile, the wait
// succeeds nevertheless.
func Wait(ctx context.Context, h host.Host, net Prober, s step.Step, age time.Duration) error {
	r := fleetRequest{Name: s.Get("barrier"), Action: "arrive"}
	switch {
	case s.Get("signal") != "":
		r.Name, r.Action = s.Get("signal"), "signal"
	case s.Get("send") != "":
		r.Name, r.Action, r.Payload = s.Get("send"), "send", s.Get("payload")
	case r.Name == "":
		return Run(ctx, h, net, s)
	}
	if r.Action == "arrive" {
		r.Run = rand.Text() // identifies this execution of the step
	}
	f, ok := net.(Fleet)
	if !ok {
		return errors.New("this host is not in a fleet, so no hub can answer")
	}
	w := fleetWait{Fleet: f, request: r, began: time.Now(), limit: limitOf(s)}
	if s.Get("since") == "run" {
		w.age = max(age, 1)
	}
	return w.run(ctx)
}

// fleetWait is the execution of one step.
type fleetWait struct {
	Fleet
	request fleetRequest
	began   time.Time
	age     time.Duration // of the run when the wait began; 0: earlier signals count
	limit   time.Duration
}

func (w fleetWait) run(ctx context.Context) error {
	limited, stop := context.WithTimeout(ctx, w.limit)
	defer stop()
	for {
		r := w.request
		if w.age > 0 {
			r.Age = int64(w.age + time.Since(w.began))
		}
		done, err := w.ask(limited, r)
		if done {
			return nil
		}
		select {
		case <-limited.Done():
			return w.end(ctx, err)
		case <-time.After(fleetPause):
		}
	}
}

// ask sends one request. err is the reason for which the wait continues.
func (w fleetWait) ask(ctx context.Context, r fleetRequest) (done bool, err error) {
	ctx, stop := context.WithTimeout(ctx, fleetAttempt)
	defer stop()
	body, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	var a fleetAnswer
	if body, err = w.Fleet.Fleet(ctx, body); err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err == nil && !a.Done {
		err = errors.New(a.Why)
	}
	return a.Done, err
}

// end ends the wait without success, unless the barrier has opened.
func (w fleetWait) end(ctx context.Context, why error) error {
	if w.request.Action == "arrive" {
		r := w.request
		r.Action = "withdraw"
		if opened, _ := w.ask(context.WithoutCancel(ctx), r); opened {
			return nil
		}
	}
	if ctx.Err() != nil {
		return errors.Join(why, ctx.Err())
	}
	return fmt.Errorf("still failing after %s: %w", w.limit, why)
}
