package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/test/port"
)

// over starts a hub with all data on a NATS cluster. Agents connect to it over TLS.
func (a *authority) over(t testing.TB, name string, f *bus.ExternalNats) *bus.Server {
	t.Helper()
	srv, err := a.tryOver(context.Background(), t, name, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func (a *authority) tryOver(ctx context.Context, t testing.TB, name string, f *bus.ExternalNats) (*bus.Server, error) {
	return bus.Start(ctx, bus.Config{Dir: t.TempDir(), Name: name, Listen: "127.0.0.1:0", TLS: a.conf("hub", name),
		Identify: identify, ExternalNats: f})
}

// TestExternalNats: a bus with a NATS cluster passes the same suite.
func TestExternalNats(t *testing.T) {
	t.Parallel()
	others, a := bustest.NewOthers(t, 3, port.Reserve), newAuthority(t)
	fleets := 0
	bustest.Conform(t, func(t *testing.T) bustest.Bus {
		fleets++
		srv := a.over(t, "hub1", others.ExternalNats(fmt.Sprint("fleet", fleets)))
		return busOf(t, srv, func(id fleet.TargetID) bus.LinkConfig { return a.link(srv, id) })
	})
}

// TestTwoHubsOfExternalNats: two hubs that share only a NATS cluster reach the agents of each other,
// with requests, notifications and streams.
func TestTwoHubsOfExternalNats(t *testing.T) {
	others, a := bustest.NewOthers(t, 1, port.Reserve), newAuthority(t)
	one, two := a.over(t, "hub1", others.ExternalNats("acme")), a.over(t, "hub2", others.ExternalNats("acme"))
	ctx := t.Context()
	id := bustest.ID(1)
	agent := busOf(t, two, func(id fleet.TargetID) bus.LinkConfig { return a.link(two, id) }).Link(ctx, id)
	told := make(chan string, 1)
	if err := errors.Join(
		agent.Serve("do", func(_ context.Context, body []byte) ([]byte, error) { return append([]byte("did "), body...), nil }),
		agent.Serve("hear", func(_ context.Context, body []byte) ([]byte, error) { told <- string(body); return nil, nil }),
		agent.ServeStreams("echo", func(_ context.Context, header []byte, s io.ReadWriteCloser) {
			_, _ = s.Write(header)
			_, _ = io.Copy(s, s)
		}),
	); err != nil {
		t.Fatal(err)
	}
	x := one.Exchange()
	var answer []byte
	bustest.Await(t, "an answer over another hub", func() (ok bool) {
		var err error
		answer, err = x.Ask(ctx, id, "do", []byte("it"))
		return err == nil
	})
	if string(answer) != "did it" || len(x.Connected()) != 0 {
		t.Errorf("%q, and %v are connected here", answer, x.Connected())
	}
	if _, err := x.Ask(ctx, id, "nothing", nil); !errors.Is(err, fleet.ErrOffline) {
		t.Errorf("a word that nobody serves: %v", err)
	}
	if _, err := x.Ask(ctx, bustest.ID(2), "do", nil); !errors.Is(err, fleet.ErrOffline) {
		t.Errorf("who is nowhere: %v", err)
	}
	if err := x.Tell(id, "hear", []byte("news")); err != nil || <-told != "news" {
		t.Error("it was not told", err)
	}
	stream, err := x.Open(ctx, id, "echo", []byte("head "))
	if err != nil {
		t.Fatal(err)
	}
	much := strings.Repeat("0123456789", 100_000)
	go func() { _, _ = io.WriteString(stream, much) }()
	back := make([]byte, len("head ")+len(much))
	if _, err := io.ReadFull(stream, back); err != nil || string(back) != "head "+much {
		t.Errorf("read %d bytes back: %v", len(back), err)
	}
	// The agent disconnects: pending operations end.
	_ = agent.Close()
	if _, err := io.ReadFull(stream, back[:1]); !errors.Is(err, bus.ErrLost) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("the stream of an agent that is gone: %v", err)
	}
	bustest.Await(t, "it is known to be gone", func() bool {
		_, err := x.Ask(ctx, id, "do", nil)
		return errors.Is(err, fleet.ErrOffline)
	})
	// It connects to the other hub, and then to the first hub again, before that hub has detected
	// the end of the old connection.
	for _, at := range []*bus.Server{one, two} {
		moved := busOf(t, at, func(id fleet.TargetID) bus.LinkConfig { return a.link(at, id) }).Link(ctx, id)
		defer moved.Close()
		if err := moved.Serve("where", func(context.Context, []byte) ([]byte, error) { return []byte(at.Address().String()), nil }); err != nil {
			t.Fatal(err)
		}
		bustest.Await(t, "it is at "+at.Address().String(), func() bool { return at.Exchange().IsConnected(id) })
		for _, from := range []*bus.Server{one, two} {
			if from != at && from.Exchange().IsConnected(id) {
				continue // it still used the old connection
			}
			bustest.Await(t, "it is found there", func() bool {
				answer, err := from.Exchange().Ask(ctx, id, "where", nil)
				return err == nil && string(answer) == at.Address().String()
			})
		}
	}
	if peers, _ := one.Peers(ctx); len(peers) != 2 || peers[0].Name != "hub1" || peers[1].Name != "hub2" {
		t.Errorf("the hubs are %v", peers)
	}
	two.Close()
	bustest.Await(t, "the other hub is known to be gone", func() bool { peers, _ := one.Peers(ctx); return len(peers) == 1 })
}

// TestExternalNatsLeaves: one server of three stops, and then all of them for a while. Acknowledged data
// exists afterwards, watches and followers continue, and another hub takes over the lease.
func TestExternalNatsLeaves(t *testing.T) {
	t.Parallel()
	others, a := bustest.NewOthers(t, 3, port.Reserve), newAuthority(t)
	one, two := a.over(t, "hub1", others.ExternalNats("acme")), a.over(t, "hub2", others.ExternalNats("acme"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(s *bus.Server) (fleet.Store, fleet.Log) {
		b := busOf(t, s, nil)
		return b.Store("things"), b.Log("events")
	}
	store1, log1 := open(one)
	store2, log2 := open(two)
	f := follow(ctx, log2)
	var mu sync.Mutex
	seen := map[string]string{}
	go func() {
		_ = store2.Watch(ctx, func(e fleet.Entry) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Key] = string(e.Value)
		}, func() {})
	}()
	acknowledged := 0
	write := func() bool {
		text := fmt.Sprint(acknowledged)
		once, stop := context.WithTimeout(ctx, 3*time.Second)
		defer stop()
		if _, err := log1.Append(once, [][]byte{[]byte(text)}); err != nil {
			return false
		}
		if _, err := store1.Put(once, "k"+text, []byte(text)); err != nil {
			return false
		}
		acknowledged++
		return true
	}
	rounds := func(what string) {
		t.Helper()
		for range 10 {
			bustest.Await(t, "something is written: "+what, write)
		}
		for i := range acknowledged {
			text := fmt.Sprint(i)
			bustest.Await(t, text+" is followed: "+what, func() bool { return f.has(text) })
			bustest.Await(t, text+" is watched: "+what, func() bool { mu.Lock(); defer mu.Unlock(); return seen["k"+text] == text })
		}
	}
	leads := make(chan string, 10)
	hold := func(s fleet.Store, name string) (stop func()) {
		leading, stop := context.WithCancel(ctx)
		go func() {
			_ = bus.Lead(leading, s, bus.LeaseConfig{Key: "leader", Holder: name, Validity: 4 * time.Second},
				func(ctx context.Context, _ uint64) { leads <- name; <-ctx.Done() })
		}()
		return stop
	}
	stop1 := hold(store1, "hub1")
	if got := <-leads; got != "hub1" {
		t.Fatal(got)
	}
	defer hold(store2, "hub2")()
	rounds("all are there")
	for i := range 3 {
		others.Stop(i)
		rounds(fmt.Sprint("without ", i))
		others.Start(i)
		rounds(fmt.Sprint("with ", i, " again"))
	}
	others.StopAll()
	bustest.Await(t, "it is seen that all are away", func() bool { return one.Healthy() != nil && two.Healthy() != nil })
	if write() {
		t.Error("something is acknowledged by nobody")
	}
	others.StartAll()
	bustest.Await(t, "all are there again", func() bool { return one.Healthy() == nil && two.Healthy() == nil })
	rounds("after all were away")
	for len(leads) > 0 {
		<-leads
	}
	stop1()
	one.Close()
	bustest.Await(t, "another leads", func() bool { name, _ := bus.Holder(ctx, store2, "leader"); return name == "hub2" })
	cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("following: %v", err)
	}
}

// TestExternalNatsRefuses: if the cluster lacks a capability, the error is immediate and clear. For an
// unreachable cluster, the hub waits and warns.
func TestExternalNatsRefuses(t *testing.T) {
	others, a := bustest.NewOthers(t, 1, port.Reserve), newAuthority(t)
	a.over(t, "hub1", others.ExternalNats("acme"))
	for _, c := range []struct {
		name   string
		change func(*bus.ExternalNats)
		want   string
	}{
		{"wrong password", func(f *bus.ExternalNats) { f.Login = []byte("fettle:WRONG") }, "credentials"},
		{"no password", func(f *bus.ExternalNats) { f.Login = nil }, "credentials"},
		{"no JetStream", func(f *bus.ExternalNats) { f.Login = []byte("plain:secret") }, "has no JetStream"},
		{"no rights", func(f *bus.ExternalNats) { f.Login = []byte("mute:secret") }, "lacks rights"},
		{"too few streams", func(f *bus.ExternalNats) { f.Login, f.Prefix = []byte("small:secret"), "small" }, "limit of streams"},
		{"one server", func(f *bus.ExternalNats) { f.Prefix, f.Replicas = "third", 3 }, "--nats-replicas 1"},
		{"another fleet", func(f *bus.ExternalNats) { f.Key = []byte(strings.Repeat("x", bus.KeySize)) }, "belong to another fleet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := others.ExternalNats("acme")
			c.change(f)
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			srv, err := a.tryOver(ctx, t, "hub2", f)
			if err == nil {
				defer srv.Close()
				for i := 0; err == nil && i < 5; i++ {
					_, err = srv.Store(ctx, fmt.Sprint("b", i))
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "WRONG") {
				t.Errorf("got %v", err)
			} else {
				t.Log(err)
			}
		})
	}
	others.StopAll()
	var mu sync.Mutex
	var said []string
	ready := make(chan error, 1)
	go func() {
		srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), Name: "late", DontListen: true,
			ExternalNats: others.ExternalNats("acme"), Warn: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, text)
			}})
		if err == nil {
			defer srv.Close()
		}
		ready <- err
	}()
	bustest.Await(t, "it is said that it waits", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "waits for it") })
	})
	others.StartAll()
	if err := <-ready; err != nil {
		t.Error(err)
	}
}

// TestExternalNatsIsFull: the log uses the available space. Writes without space fail with a clear
// error, and older data stays.
func TestExternalNatsIsFull(t *testing.T) {
	f := bustest.NewOthers(t, 1, port.Reserve).ExternalNats("acme")
	f.Login = []byte("full:" + bustest.Password)
	var said []string
	srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), Name: "hub1", DontListen: true, ExternalNats: f,
		Warn: func(text string) { said = append(said, text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	b := busOf(t, srv, srv.Local)
	store, log := b.Store("things"), b.Log("events")
	if text := strings.Join(said, "\n"); !strings.Contains(text, "no room for a log of 4096 MiB: trying 128 MiB") {
		t.Errorf("said was %q", text)
	}
	if _, err := log.Append(t.Context(), [][]byte{[]byte("first")}); err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 300; i++ {
		_, err = store.Put(t.Context(), fmt.Sprint("k", i), make([]byte, bus.MaxValue))
	}
	if err == nil || !strings.Contains(err.Error(), "no room left") {
		t.Errorf("where there is no room: %v", err)
	} else {
		t.Log(err)
	}
	if e, err := store.Get(t.Context(), "k0"); err != nil || len(e.Value) != bus.MaxValue {
		t.Errorf("what was there before: %d bytes, %v", len(e.Value), err)
	}
	if f := follow(t.Context(), log); f != nil {
		bustest.Await(t, "the log is read", func() bool { return f.has("first") })
	}
}
