package apitest

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// Waits are a barrier at which one of three members waits, and the signal schema.
type Waits struct{}

// Barriers implements api.Barriers.
func (Waits) Barriers(context.Context) ([]document.Barrier, error) {
	return []document.Barrier{{Name: "schema-2", Quorum: "all", OfflineAfter: int64(10 * time.Minute), Generation: 3,
		Opened: lockNoon - int64(time.Hour), Arrived: 1, Required: 2, Counted: 2,
		Members: []document.BarrierMember{
			{Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Name: "db1", State: document.MemberArrived,
				Since: lockNoon - int64(time.Minute)},
			{Target: "daaaaaaaaaaaaaaaaaaaaaaaaa", Name: "db2", State: document.MemberExpected},
			{Target: "eaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "db3", State: document.MemberOffline}}}}, nil
}

// Signals implements api.Signals.
func (Waits) Signals(context.Context) ([]document.Signal, error) {
	return []document.Signal{{Name: "schema", Keep: int64(24 * time.Hour), Senders: []string{"db1"},
		Sent: []document.SentSignal{
			{Sender: "db1", Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Payload: "v2", First: lockNoon - int64(time.Hour),
				At: lockNoon - int64(time.Minute)},
			{Sender: "kim", First: lockNoon, At: lockNoon}}}}, nil
}

// SendSignal implements api.Signals.
func (Waits) SendSignal(_ context.Context, _ access.Principal, name string, _ document.SignalRequest) error {
	return known(name)
}

// ClearSignal implements api.Signals.
func (Waits) ClearSignal(_ context.Context, _ access.Principal, name, _ string) error {
	return known(name)
}

func known(name string) error {
	if name == "schema" {
		return nil
	}
	return &api.Refusal{Status: 404, Why: "cannot find the signal " + name, Hint: "List the signals: fettle signal list"}
}
