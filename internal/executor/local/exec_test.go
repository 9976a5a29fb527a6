package local_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// A command that failed is not managed: it runs again, and its removal needs no
// undo.
func TestFailedCommandRunsAgain(t *testing.T) {
	code, ran := 1, 0
	h := mem.New(mem.Options{Run: func(context.Context, *mem.Host, host.Command) (host.CommandResult, error) {
		ran++
		return host.CommandResult{ExitCode: code}, nil
	}})
	x, err := local.New(h, mem.New(mem.Options{}), local.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	list, ds := step.Parse("list", []byte("EXEC migrate /bin/migrate\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	r := executor.Request{List: list, Repair: true, Revision: repo.Revision{Digest: list.Digest()}}
	if rep, err := x.Apply(context.Background(), r, nil, executor.Options{}, nil); err == nil || len(rep.Remaining) != 0 {
		t.Fatalf("it did not fail: %+v", rep)
	}
	if st, _ := x.Status(context.Background()); len(st.State.Entries) != 0 {
		t.Errorf("managed after a failure: %+v", st.State.Entries)
	}
	code = 0
	for range 2 {
		if _, err := x.Apply(context.Background(), r, nil, executor.Options{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if ran != 2 {
		t.Errorf("it ran %d times, want once failing and once not", ran)
	}
	back := executor.RollbackRequest{}
	if _, err := x.Rollback(context.Background(), back, nil, executor.Options{}, nil); !errors.Is(err,
		executor.ErrIrreversible) {
		t.Errorf("crossed a command without undo: %v", err)
	}
	back.CrossIrreversible = true
	if _, err := x.Rollback(context.Background(), back, nil, executor.Options{}, nil); err != nil {
		t.Error(err)
	}
}
