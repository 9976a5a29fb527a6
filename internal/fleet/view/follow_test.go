package view_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/view"
)

// The model soon contains the log and the stores. Objects that were removed while the hub was down
// are removed, and unreadable records stop nothing.
func TestFollow(t *testing.T) {
	s := view.Sources{Log: bustest.NewLog(), Targets: bustest.NewStore(), Assignments: bustest.NewStore(),
		Open: func(e fleet.Entry) (fleet.Assignment, error) { return fleet.ParseAssignment(e.Value) }}
	file := filepath.Join(t.TempDir(), "view.db")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	follow := func(while func(v *view.View)) {
		v, err := view.Open(file, view.Options{})
		must(nil, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Follow(ctx, s) }()
		while(v)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(nil, v.Close())
	}
	ctx := t.Context()
	for n := range 2 {
		must(s.Targets.Put(ctx, string(id(n)), record(member(n))))
	}
	must(s.Targets.Put(ctx, string(id(2)), []byte("no target")))
	must(s.Assignments.Put(ctx, string(id(0)), assignment(0, 2, 1).Marshal()))
	must(s.Assignments.Put(ctx, string(id(1)), assignment(0, 2, 1).Marshal())) // another's
	must(s.Log.Append(ctx, [][]byte{said(0, 1, 2, fleet.ModuleReady)}))
	names := func(v *view.View) (out string) {
		page, err := v.Targets(ctx, view.TargetQuery{Now: at(100)})
		must(nil, err)
		for _, target := range page.Targets {
			out += target.Name + " " + string(target.State) + "; "
		}
		return out
	}
	follow(func(v *view.View) {
		bustest.Await(t, "all is in the model", func() bool { return names(v) == "t0 ready; t1 unknown; " })
		must(s.Log.Append(ctx, [][]byte{said(0, 2, 2, fleet.ModuleFailed)}))
		bustest.Await(t, "a report", func() bool { return names(v) == "t0 failed; t1 unknown; " })
		must(nil, s.Assignments.Delete(ctx, string(id(0)), 0))
		bustest.Await(t, "the removal of an assignment", func() bool {
			page, err := v.Modules(ctx, at(100))
			return err == nil && len(page.Modules) == 0
		})
	})
	must(nil, s.Targets.Delete(ctx, string(id(1)), 0))
	follow(func(v *view.View) {
		bustest.Await(t, "what went meanwhile is gone",
			func() bool { return names(v) == "t0 failed; " || names(v) == "t0 unassigned; " })
	})
}

// If the log is not the one from which the model was created, the model is created again: after a
// lost log, and after an old backup to which hubs have appended.
func TestAnotherLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "view.db")
	follow := func(log *bustest.Log, states string) {
		t.Helper()
		v, err := view.Open(file, view.Options{})
		if err != nil {
			t.Fatal(err)
		}
		targets := bustest.NewStore()
		_, err = targets.Put(t.Context(), string(id(0)), record(member(0)))
		end, err2 := log.Append(t.Context(), nil)
		if err = errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- v.Follow(ctx, view.Sources{Log: log, End: end, Targets: targets, Assignments: bustest.NewStore()})
		}()
		bustest.Await(t, "the model of the log", func() bool {
			page, err := v.Events(t.Context(), view.EventQuery{})
			got := ""
			for _, e := range page.Events {
				got += string(e.Kind) + " "
			}
			return err == nil && got == states
		})
		stop()
		<-ended
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	kinds := func(kind fleet.EventKind, seq int) []byte {
		r := said(0, seq, 1, fleet.ModuleReady)
		return bytes.ReplaceAll(r, []byte(`"kind":"applied"`), []byte(`"kind":"`+string(kind)+`"`))
	}
	add := func(log *bustest.Log, kind fleet.EventKind, seq int) {
		if _, err := log.Append(t.Context(), [][]byte{kinds(kind, seq)}); err != nil {
			t.Fatal(err)
		}
	}
	log := bustest.NewLog()
	add(log, fleet.Started, 1)
	backup := log.Copy()
	add(log, fleet.Applied, 2)
	add(log, fleet.Ready, 3)
	follow(log, "started applied ready ")
	follow(log, "started applied ready ")
	for _, k := range []fleet.EventKind{fleet.Failed, fleet.Failed, fleet.Drifted, fleet.Repaired, fleet.ReportRequested} {
		add(backup, k, len(backup.Records())+1)
	}
	follow(backup, "started failed failed drifted repaired told ")
	begun := bustest.NewLog()
	add(begun, fleet.ReportRequested, 1)
	follow(begun, "told ")
}
