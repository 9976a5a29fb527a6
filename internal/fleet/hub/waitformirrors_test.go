package hub

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// fullBus is a bus whose bucket of settings is full.
type fullBus struct{ *simBus }

func (b fullBus) Store(ctx context.Context, name string) (fleet.Store, error) {
	s, err := b.simBus.Store(ctx, name)
	if name == "settings" {
		s = fullStore{s}
	}
	return s, err
}

type fullStore struct{ fleet.Store }

func (fullStore) Put(context.Context, string, []byte) (uint64, error) {
	return 0, errors.New("the disk is full")
}

// TestHubThatCannotSettle: the hub ends with the reason, so that its service manager restarts it.
func TestHubThatCannotSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := newSim(1)
		if err != nil {
			t.Fatal(err)
		}
		defer s.end()
		b := fullBus{&simBus{sim: s, kept: s.kept, dead: &atomic.Bool{}}}
		e := dependencies{sources: s.site.clone, bus: func(ctx context.Context, _ bus.Config) (shared, error) {
			b.net = bustest.NewNet(ctx, bustest.Faults{})
			return b, nil
		}}
		c := Config{Files: s.files, Dir: s.hubs[0].dir(), Compile: simCompiler{}, Now: time.Now}
		h := newHub(t.Context(), c, e, s.hubs[0].serveWire)
		if err := h.run(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("it ends with %v", err)
		}
	})
}
