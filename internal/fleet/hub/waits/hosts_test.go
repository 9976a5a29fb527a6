package waits

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/agentsocket"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/probe"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/check"
)

// TestStepsOfHosts: steps of three hosts wait for each other, with agents and several hubs.
func TestStepsOfHosts(t *testing.T) {
	s := newSite(t)
	hubs := []*Waits{s.hub(), s.hub(), s.hub()}
	s.declare(hubs[0], schema)
	run := func(ctx context.Context, i int, words string) error {
		list, ds := step.Parse("x.steps", []byte("WAIT a "+words+"\n"))
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		return check.Wait(ctx, mem.New(mem.Options{}), probe.Net{Hubs: runsOf(t, hubs, i)}, list[0], time.Hour)
	}
	if err := run(t.Context(), 3, "barrier=schema timeout=1s"); err == nil ||
		!strings.Contains(err.Error(), "not a member") {
		t.Errorf("a target that is not a member: %v", err)
	}
	if err := run(t.Context(), 1, "signal=start timeout=1s"); err == nil ||
		!strings.Contains(err.Error(), "was not sent") {
		t.Errorf("a signal that was not sent: %v", err)
	}
	if err := run(t.Context(), 0, "barrier=schema timeout=1s"); err == nil ||
		!strings.Contains(err.Error(), "1 of 3 required members") {
		t.Errorf("the others do not arrive: %v", err)
	}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if err := run(t.Context(), i, "barrier=schema timeout=2m"); err != nil {
				t.Errorf("db%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if err := run(t.Context(), 0, `send=start payload="v2 \"x\""`); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), 1, "signal=start since=run"); err != nil {
		t.Error(err)
	}
	if text := s.texts(); !strings.Contains(text, "generation 1 opened with 3 arrivals") ||
		strings.Contains(text, "generation 2") {
		t.Errorf("the events are\n%s", text)
	}
}

// runsOf returns a function that asks the hubs for a run of a host, through an agent. Each request reaches another hub.
func runsOf(t *testing.T, hubs []*Waits, i int) func(context.Context, []byte) ([]byte, error) {
	n := i
	agent := agentsocket.Server{agentsocket.Waits: agentsocket.Answering(
		func(ctx context.Context, request []byte) ([]byte, error) {
			n++ // one request at a time
			return hubs[n%len(hubs)].OnWait(ctx, bustest.ID(i), request)
		})}
	return func(ctx context.Context, request []byte) ([]byte, error) {
		return agentsocket.Ask(ctx, func(context.Context) (io.ReadWriteCloser, error) {
			a, b := net.Pipe()
			go agent.Serve(t.Context(), b)
			return a, nil
		}, agentsocket.Waits, request)
	}
}
