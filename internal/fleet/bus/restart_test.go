package bus_test

import (
	"context"
	"crypto/tls"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestRestart: all links reconnect after their hub was down, with their current certificates.
func TestRestart(t *testing.T) {
	links := 100
	if os.Getenv("FETTLE_LONG") != "" {
		links = 500
	}
	a := newAuthority(t)
	dir := t.TempDir()
	srv, err := a.listening(dir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := srv.Address().String()
	var renewed atomic.Int64
	for i := range links {
		c := bus.LinkConfig{ID: bustest.ID(i), URLs: []string{"tls://127.0.0.1:1", "tls://" + address},
			Backoff: bus.Backoff{First: 50 * time.Millisecond, Most: time.Second}}
		own := a.conf("target", string(c.ID))
		c.TLS = func() (*tls.Config, error) { renewed.Add(1); return own, nil }
		l, err := bus.Dial(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	begin := time.Now()
	here := func(srv *bus.Server) func() bool {
		return func() bool { return len(srv.Exchange().Connected()) == links }
	}
	bustest.Await(t, "all links are up", here(srv))
	t.Logf("%d links after %s", links, time.Since(begin).Round(time.Millisecond))
	before := renewed.Load()
	srv.Close()
	if srv, err = a.listening(dir, address); err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	begin = time.Now()
	bustest.Await(t, "all links are back", here(srv))
	t.Logf("%d links are back after %s, in %d attempts", links, time.Since(begin).Round(time.Millisecond),
		renewed.Load()-before)
	if renewed.Load() < before+int64(links) {
		t.Error("a link came back without asking for its certificate")
	}
}

// TestRevoked: a revoked target is disconnected at once, and cannot reconnect.
func TestRevoked(t *testing.T) {
	a := newAuthority(t)
	var revoked atomic.Bool
	srv, err := bus.Start(context.Background(), bus.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0",
		TLS: a.conf("hub", "hub1"),
		Identify: func(state *tls.ConnectionState) (fleet.TargetID, error) {
			id, err := identify(state)
			if err == nil && revoked.Load() && id == bustest.ID(1) {
				return "", fleet.ErrDenied
			}
			return id, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	var refused atomic.Int64
	for i := range 2 {
		c := a.link(srv, bustest.ID(i))
		c.Warn = func(string) {
			if i == 1 {
				refused.Add(1)
			}
		}
		l, err := bus.Dial(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	bustest.Await(t, "both are here", func() bool { return len(srv.Exchange().Connected()) == 2 })
	revoked.Store(true)
	srv.Exchange().Kick(bustest.ID(1))
	bustest.Await(t, "it tries to come back", func() bool { return refused.Load() > 5 })
	if got := srv.Exchange().Connected(); !slices.Equal(got, []fleet.TargetID{bustest.ID(0)}) {
		t.Errorf("connected are %v", got)
	}
}
