package bus_test

import (
	"context"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestBroke: a hub is informed of agents that violate the protocol or flood it, with the target of
// their certificate.
func TestBroke(t *testing.T) {
	a := newAuthority(t)
	var mu sync.Mutex
	told := map[string]fleet.TargetID{}
	srv, err := bus.Start(context.Background(), bus.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TLS: a.conf("hub", "hub1"), Identify: identify,
		OnViolation: func(id fleet.TargetID, why string) {
			mu.Lock()
			defer mu.Unlock()
			told[why] = id
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	block := make(chan struct{})
	defer close(block)
	if err := srv.Exchange().Serve("report", func(context.Context, fleet.TargetID, []byte) ([]byte, error) { <-block; return nil, nil }); err != nil {
		t.Fatal(err)
	}
	for why, do := range map[string]func(*raw){
		"it violated the protocol":                          func(r *raw) { _ = r.send('X', nil) },
		"its request has a reply subject of another target": func(r *raw) { _ = r.send('M', said("q.report", "q.do", nil)) },
		"it sent more concurrent requests than a hub accepts": func(r *raw) {
			for range 40 {
				_ = r.send('M', said("q.report", "r.x.1", nil))
			}
		},
	} {
		r := newRaw(t, a, srv, bustest.ID(1))
		do(r)
		bustest.Await(t, why, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return told[why] == bustest.ID(1)
		})
		_ = r.conn.Close()
	}
}
