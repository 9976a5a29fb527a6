package waits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// Service answers requests of users about barriers and signals.
type Service struct{ Of *Waits }

// HandleRoutes registers the handlers of barriers and signals.
func (s Service) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Barriers(), s.Barriers)
	api.HandleGet(t, route.Signals(), s.Signals)
	api.HandleDone(t, route.SendSignal(), "The signal {signal} is sent.", s.SendSignal)
	api.HandleDone(t, route.ClearSignal(), "The signal {signal} no longer counts as sent.", s.ClearSignal)
}

// Barriers returns all barriers, sorted by name.
func (s Service) Barriers(ctx context.Context) (document.BarrierPage, error) {
	out := document.BarrierPage{Format: document.BarrierPageFormat, Barriers: []document.Barrier{}}
	for _, b := range s.Of.Records.Barriers.Values() {
		all, err := s.Of.members(ctx, b.State.Definition)
		if err != nil {
			return out, err
		}
		out.Barriers = append(out.Barriers, s.describe(b.State, all))
	}
	return out, nil
}

func (s Service) describe(b barrier.State, all []member) document.Barrier {
	d := document.Barrier{Name: b.Name, Quorum: b.Quorum, OfflineAfter: int64(b.OfflineAfter), Generation: b.Generation,
		Undeclared: b.Undeclared, Members: []document.BarrierMember{}}
	arrived := map[string]int64{}
	for _, a := range b.Waiting(s.Of.restored()) {
		arrived[a.Target] = time.UnixMilli(a.Since).UnixNano()
	}
	for _, m := range all {
		x := document.BarrierMember{Target: m.id, Name: m.name, State: document.BarrierMemberState(m.absent)}
		if since, here := arrived[string(m.id)]; here {
			x.State, x.Since = document.MemberArrived, since
			d.Arrived++
		} else if m.absent == "" {
			x.State = document.MemberExpected
		}
		if x.State == document.MemberArrived || x.State == document.MemberExpected {
			d.Counted++
		}
		d.Members = append(d.Members, x)
	}
	d.Required = b.Required(d.Counted)
	if n := len(b.Passes); n > 0 {
		d.Opened = time.UnixMilli(b.Passes[n-1].At).UnixNano()
	}
	return d
}

// Signals returns all signals, sorted by name.
func (s Service) Signals(context.Context) (document.SignalPage, error) {
	out := document.SignalPage{Format: document.SignalPageFormat, Signals: []document.Signal{}}
	for _, f := range s.Of.Records.Signals.Values() {
		d := document.Signal{Name: f.State.Name, Keep: int64(f.State.Keep), Undeclared: f.State.Undeclared,
			Senders: append([]string{}, f.State.Senders...), Sent: []document.SentSignal{}}
		for _, x := range f.State.Kept(s.Of.Now().UnixMilli()) {
			sent := document.SentSignal{Sender: x.Sender, Payload: x.Payload, First: time.UnixMilli(x.First).UnixNano(),
				At: time.UnixMilli(x.At).UnixNano()}
			if !x.User {
				t, _, _ := s.Of.Records.Targets.Get(x.Sender)
				sent.Target, sent.Sender = fleet.TargetID(x.Sender), cmp.Or(t.Name, x.Sender)
			}
			d.Sent = append(d.Sent, sent)
		}
		out.Signals = append(out.Signals, d)
	}
	return out, nil
}

// SendSignal sends a signal of a user.
func (s Service) SendSignal(ctx context.Context, by api.Caller, at route.SignalName, r document.SignalRequest) error {
	if err := signal.CheckPayload(r.Payload); err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(), Hint: "Shorten the payload"}
	}
	a, err := s.Of.send(ctx, at.Signal, signal.Event{Sender: by.Name, User: true, Payload: r.Payload})
	if err == nil && a.Undeclared {
		err = ErrUnknown
	}
	return s.refused(ctx, at.Signal, err)
}

// notFound is the HTTP status of an unknown signal.
const notFound = 404

// maxReason is the maximum size of a reason, in bytes.
const maxReason = 500

// ClearSignal removes the sent signals of a name.
func (s Service) ClearSignal(ctx context.Context, by api.Caller, at route.SignalName, r document.ReasonRequest) error {
	if r.Reason == "" {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot clear a signal without a reason",
			Hint: "Add a reason: fettle signal clear SIGNAL --reason WHY"}
	}
	if len(r.Reason) > maxReason {
		return &api.Refusal{Status: api.BadRequest, Hint: "Shorten the reason",
			Why: fmt.Sprintf("cannot use a reason of %d bytes: the maximum is %d", len(r.Reason), maxReason)}
	}
	_, _, err := s.Of.signals().apply(ctx, s.Of.Now, at.Signal, signal.Event{Kind: signal.Clear}, false,
		order{by.Name, r.Reason})
	return s.refused(ctx, at.Signal, err)
}

// refused returns the error for a user. Without a majority of the hubs, a missing signal is only unknown.
func (s Service) refused(ctx context.Context, name string, err error) error {
	if errors.Is(err, ErrUnknown) && signal.CheckName(name) == nil {
		err = cmp.Or(s.Of.Records.Signals.Absent(ctx, name), err)
	}
	if errors.Is(err, ErrUnknown) {
		return &api.Refusal{Status: notFound, Why: fmt.Sprintf("cannot find the signal %.80q", name),
			Hint: "List the signals: fettle signal list"}
	}
	return err
}
