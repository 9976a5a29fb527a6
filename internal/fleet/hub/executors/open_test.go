package executors_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/executors"
)

var (
	ann = access.NewPrincipal("ann", "token", access.Operator)
	bob = access.NewPrincipal("bob", "token", access.Reader)
)

// errUnknown is the error of the registry for a target that may not be used.
var errUnknown = errors.New("no such target")

// world has one agent, web1, and a second target, web2, without an agent.
type world struct {
	*executors.Opener
	net     *bustest.Net
	missing error // of MissingHubs
}

// in runs a test with an agent that serves executors with the function agent.
func in(t *testing.T, agent func(header []byte, stream io.ReadWriteCloser), test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &world{net: bustest.NewNet(ctx, bustest.Faults{})}
		link := w.net.Link(ctx, bustest.ID(1))
		err := link.ServeStreams(fleet.MessageExecutor, func(_ context.Context, h []byte, s io.ReadWriteCloser) {
			defer s.Close()
			agent(h, s)
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Opener = executors.New(executors.Config{Exchange: w.net.Exchange(), Timeout: 8 * time.Second,
			Trusted: trusted, MissingHubs: func(context.Context) error { return w.missing }})
		synctest.Wait()
		test(t, w)
		cancel()
		_ = link.Close()
	})
}

func trusted(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
	for n, name := range map[int]string{1: "web1", 2: "web2"} {
		if bustest.ID(n) == id {
			return fleet.Target{ID: id, Name: name}, nil
		}
	}
	return fleet.Target{}, errUnknown
}

// reads is an agent that reads until the stream ends.
func reads(_ []byte, s io.ReadWriteCloser) { _, _ = io.Copy(io.Discard, s) }

// TestHeader: the agent gets the name of the user, and whether the stream may change the target.
func TestHeader(t *testing.T) {
	echo := func(h []byte, s io.ReadWriteCloser) { _, _ = s.Write(h) }
	in(t, echo, func(t *testing.T, w *world) {
		for _, c := range []struct {
			by      access.Principal
			changes bool
		}{{ann, true}, {bob, false}} {
			s, err := w.OpenExecutor(t.Context(), c.by, bustest.ID(1), c.changes)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(s)
			if err = errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
			var got fleet.ExecutorHeader
			want := fleet.ExecutorHeader{By: c.by.Name, Changes: c.changes}
			if err := json.Unmarshal(text, &got); err != nil || got != want {
				t.Errorf("the agent got %s, %v; want %+v", text, err, want)
			}
		}
	})
}

// TestRefusedTargets: a target that is not trusted or not connected gets no stream.
func TestRefusedTargets(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		if _, err := w.OpenExecutor(t.Context(), ann, "nobody", true); !errors.Is(err, errUnknown) {
			t.Errorf("an unknown target: %v", err)
		}
		for range 20 { // more than one user may have open: a failure does not count
			_, err := w.OpenExecutor(t.Context(), ann, bustest.ID(2), true)
			if !errors.Is(err, fleet.ErrOffline) || !strings.Contains(err.Error(), "web2") {
				t.Fatalf("a target without a connection: %v", err)
			}
		}
	})
}

// TestSilentAgent: after the timeout the refusal names the target, and hubs that do not answer. If the
// request of the user ends first, that is the error.
func TestSilentAgent(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		w.net.SetFaults(bustest.Faults{Drop: func(string) bool { return true }})
		open := func(ctx context.Context) (err error) {
			_, err = w.OpenExecutor(ctx, ann, bustest.ID(1), false)
			return err
		}
		for range 20 { // more than one user may have open: a failure does not count
			refused(t, open(t.Context()), api.Unavailable, "web1", "fettle target show web1")
		}
		w.missing = errors.New("hub3 does not answer")
		refused(t, open(t.Context()), api.Unavailable, "hub3 does not answer", "--via ssh")
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the request ended: %v", err)
		}
	})
}

// refused checks the status of a refusal, and parts of its text.
func refused(t *testing.T, err error, status int, parts ...string) {
	t.Helper()
	var r *api.Refusal
	if !errors.As(err, &r) || r.Status != status {
		t.Fatalf("%v, want a refusal with the status %d", err, status)
	}
	for _, part := range parts {
		if !strings.Contains(r.Why+"\n"+r.Hint, part) {
			t.Errorf("%s; %s: want %q", r.Why, r.Hint, part)
		}
	}
}

// TestLimitOnTarget: a user has eight executors on one target at once. Other users have their own. An
// executor that was closed twice counts once.
func TestLimitOnTarget(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		var open []io.Closer
		add := func(by access.Principal) error {
			s, err := w.OpenExecutor(t.Context(), by, bustest.ID(1), false)
			if err == nil {
				open = append(open, s)
			}
			return err
		}
		for range 8 {
			if err := add(ann); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, add(ann), api.TooMany, "ann has 8 open on this target", "Close one")
		if err := add(bob); err != nil {
			t.Errorf("another user: %v", err)
		}
		_ = open[0].Close()
		_ = open[0].Close()
		if err := add(ann); err != nil {
			t.Errorf("after one was closed: %v", err)
		}
		refused(t, add(ann), api.TooMany, "ann has 8 open on this target")
		for _, s := range open {
			_ = s.Close()
		}
	})
}

// TestEndOfAgent: the stream ends with the connection of the agent.
func TestEndOfAgent(t *testing.T) {
	in(t, reads, func(t *testing.T, w *world) {
		s, err := w.OpenExecutor(t.Context(), ann, bustest.ID(1), true)
		if err != nil {
			t.Fatal(err)
		}
		w.net.Cut(bustest.ID(1))
		if _, err := s.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the end of the connection is not an error: %v", err)
		}
		_ = s.Close()
	})
}
