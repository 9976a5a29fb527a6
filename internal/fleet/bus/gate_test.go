package bus_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// TestAnswersHaveABound: who asks for more than it can want gets no more of it, and others do.
func TestAnswersHaveABound(t *testing.T) {
	srv, err := bus.Start(t.Context(), bus.Config{Dir: t.TempDir(), DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	much := []byte(strings.Repeat("x", 1<<20))
	if err := srv.Exchange().Serve("much", func(context.Context, fleet.TargetID, []byte) ([]byte, error) { return much, nil }); err != nil {
		t.Fatal(err)
	}
	ask := func(i int) (answers int, last error) {
		l, err := bus.Dial(t.Context(), srv.Local(bustest.ID(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		bustest.Await(t, "it is here", func() bool { return srv.Exchange().Here(bustest.ID(i)) })
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
		// It may be that a new span of time begins meanwhile.
		if n, err := ask(i); n < 8 || n > 16 || err == nil || !strings.Contains(err.Error(), "ask again in some seconds") {
			t.Errorf("%d MiB were answered: %v", n, err)
		}
	}
}
