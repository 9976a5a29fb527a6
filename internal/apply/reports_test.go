package apply_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// TestFailedCheckIsReported: the progress of a run names a check that failed, and the history has its error.
func TestFailedCheckIsReported(t *testing.T) {
	w := newWorld(t)
	x, err := w.open()
	must(t, err)
	var seen []string
	rep, err := x.Apply(context.Background(), request(t, "COPY a /srv/new\nCHECK there file=/srv/none within=1ms\n"), nil,
		executor.Options{}, func(e executor.Event) {
			if e.Kind == "failed" {
				seen = append(seen, fmt.Sprintf("%s: %t", e.Addr, e.Text != ""))
			}
		})
	if err == nil || !slices.Equal(seen, []string{"check:there: true"}) {
		t.Errorf("%v, failed: %q", err, seen)
	}
	runs, err := x.Runs(context.Background())
	if err != nil || len(runs) != 1 || rep.Failed == nil || runs[0].Error != rep.Failed.Error || runs[0].Error == "" {
		t.Errorf("the history: %+v, %v; the report: %+v", runs, err, rep.Failed)
	}
}
