package bus_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/journal"
)

// far is an executor with a long history.
type far struct {
	executor.Executor
	asked chan struct{}
}

func (f *far) Runs(context.Context) ([]journal.RunInfo, error) {
	out := make([]journal.RunInfo, 20_000)
	for i := range out {
		out[i].Changed = i * 7919
	}
	return out, nil
}

// Status waits until its caller is gone.
func (f *far) Status(ctx context.Context) (executor.Status, error) {
	close(f.asked)
	<-ctx.Done()
	return executor.Status{}, ctx.Err()
}

// TestWire: an executor answers over a stream, and detects the end of the hub.
func TestWire(t *testing.T) {
	srv := bustest.Embedded(t)
	b := busOf(t, srv, srv.Local)
	f := &far{asked: make(chan struct{})}
	served := make(chan error, 1)
	link := b.Link(context.Background(), bustest.ID(1))
	defer link.Close()
	if err := link.ServeStreams(fleet.MessageExecutor, func(ctx context.Context, header []byte, s io.ReadWriteCloser) {
		served <- wire.Serve(ctx, s, wire.Served{Hello: wire.Hello{Version: string(header)}, Now: time.Now,
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return f, func() error { return nil }, nil
			}})
	}); err != nil {
		t.Fatal(err)
	}
	bustest.Await(t, "the target is here", func() bool { return slices.Contains(b.Exchange.Connected(), bustest.ID(1)) })
	s, err := b.Exchange.Open(context.Background(), bustest.ID(1), fleet.MessageExecutor, []byte("test"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := wire.Dial(context.Background(), s, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := c.Runs(context.Background())
	if err != nil || len(runs) != 20_000 || runs[19_999].Changed != 19_999*7919 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	go func() {
		<-f.asked
		b.Exchange.Kick(bustest.ID(1))
	}()
	if _, err := c.Status(context.Background()); !errors.Is(err, wire.ErrLost) && !errors.Is(err, bus.ErrLost) {
		t.Errorf("a connection that is lost while it is asked: %v", err)
	}
	<-served
}
