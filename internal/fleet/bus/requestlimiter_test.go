package bus_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestAnswersHaveABound: the answers to one target are limited, and other targets are not affected.
func TestAnswersHaveABound(t *testing.T) {
	srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	much := []byte(strings.Repeat("x", 1<<20))
	if err := srv.Exchange().Serve("much", func(context.Context, fleet.TargetID, []byte) ([]byte, error) {
		return much,
			nil
	}); err != nil {
		t.Fatal(err)
	}
	ask := func(i int) (answers int, last error) {
		l, err := bus.Dial(t.Context(), srv.Local(bustest.ID(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var up atomic.Bool
		l.Changes(up.Store)
		bustest.Await(t, "it is here", up.Load)
		for range 20 {
			if _, err := l.Ask(t.Context(), "much", nil); err != nil {
				last = err
			} else {
				answers++
			}
		}
		return answers, last
	}
	for i := range 2 {
		// A new time span may begin in the meantime.
		if n, err := ask(i); n < 8 || n > 16 || err == nil || !strings.Contains(err.Error(), "retry in a few seconds") {
			t.Errorf("%d MiB were answered: %v", n, err)
		}
	}
}
