package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// A front end can follow every phase: each plan after the first one is shown before its run, also the plan that goes
// back after a failure.
func TestPhasesAreShown(t *testing.T) {
	s := newSite(t).prepare()
	s.fails["reload with tls1:one\n"] = true
	var shown []string
	_, err := s.x.Apply(context.Background(), s.request(executor.Known{}), nil, executor.Options{OnFailure: "undo"},
		func(e executor.Event) {
			if e.Kind == "plan" {
				shown = append(shown, fmt.Sprintf("%s: %d of %d, base %d", e.Text, len(e.Plan.Changes), e.Total, e.Plan.Base))
			}
		})
	if !errors.Is(err, executor.ErrUndone) {
		t.Fatal(err)
	}
	want := []string{"the next phase: 3 of 3, base 1", "back to the origin: 4 of 4, base 2"}
	if !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
}
