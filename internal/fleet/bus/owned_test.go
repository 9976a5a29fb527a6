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

// TestOwnConnectionsAreCut: a server ends connections that read too slowly, also of its own hub.
// Watches of the hub continue, and targets that disconnected in the meantime are gone.
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
		_ = store.Watch(ctx, func(e fleet.Entry) { mu.Lock(); defer mu.Unlock(); seen[e.Key] = true },
			func() { close(ready) })
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
