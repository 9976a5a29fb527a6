package bus_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestOwnConnectionsAreCut: a server ends connections that are behind with reading, those of
// its own hub as well. What the hub follows goes on, and who went meanwhile is gone.
func TestOwnConnectionsAreCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv, err := bus.Start(ctx, bus.Config{Dir: t.TempDir(), DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	store, err := srv.Store(ctx, "things")
	if err != nil {
		t.Fatal(err)
	}
	log, err := srv.Log(ctx, bus.LogConfig{Name: "events"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen, heard := map[string]bool{}, map[string]bool{}
	ready := make(chan struct{})
	go func() {
		_ = store.Watch(ctx, func(e fleet.Entry) { mu.Lock(); defer mu.Unlock(); seen[e.Key] = true }, func() { close(ready) })
	}()
	go func() {
		_ = log.Follow(ctx, 0, func(_ uint64, records [][]byte) error {
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records {
				heard[string(r)] = true
			}
			return nil
		})
	}()
	<-ready
	insist := func(do func() error) {
		bustest.Await(t, "what is written", func() bool { return do() == nil })
	}
	const rounds, each = 5, 20
	for round := range rounds {
		for i := range each {
			if i == each/2 {
				srv.CutOwn()
			}
			name := fmt.Sprintf("%d-%d", round, i)
			insist(func() error { _, err := store.Put(ctx, name, []byte("x")); return err })
			insist(func() error { _, err := log.Append(ctx, [][]byte{[]byte(name)}); return err })
		}
	}
	bustest.Await(t, "all was seen and heard", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == rounds*each && len(heard) == rounds*each
	})
}

// TestGoneWhileNobodyListened: the end of a connection that the hub did not hear of is noticed
// when its own connection is there again.
func TestGoneWhileNobodyListened(t *testing.T) {
	srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	links := map[int]*bus.Link{}
	for i := range 3 {
		if links[i], err = bus.Dial(t.Context(), srv.Local(bustest.ID(i))); err != nil {
			t.Fatal(err)
		}
		defer links[i].Close()
	}
	here := func(n int) func() bool {
		return func() bool { return len(srv.Exchange().Connected()) == n }
	}
	bustest.Await(t, "all are here", here(3))
	if err := srv.ForgetsGone(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_ = links[i].Close()
	}
	srv.CutOwn()
	bustest.Await(t, "one is left", here(1))
	if _, err := srv.Exchange().Ask(t.Context(), bustest.ID(2), "nothing", nil); err == nil {
		t.Error("it answered to what it does not serve")
	}
}
