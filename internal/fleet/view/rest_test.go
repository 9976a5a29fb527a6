package view_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/view"
)

// An idle model truncates its write-ahead log, and keeps all data.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := view.Sources{Log: bustest.NewLog(), Targets: bustest.NewStore(), Assignments: bustest.NewStore(),
			Open: func(e fleet.Entry) (fleet.Assignment, error) { return fleet.ParseAssignment(e.Value) }}
		file := filepath.Join(t.TempDir(), "view.db")
		v, err := view.Open(file, view.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- v.Follow(ctx, s) }()
		first := func() int64 {
			t.Helper()
			i, err := os.Stat(file + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			return i.Size()
		}
		for round := range 3 {
			if _, err := s.Targets.Put(ctx, string(id(round)), record(member(round))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if first() == 0 {
				t.Error("nothing was written")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := first(); n != 0 {
				t.Errorf("at rest there are %d bytes that were written first", n)
			}
			page, err := v.Targets(ctx, view.TargetQuery{Now: at(100)})
			if err != nil || len(page.Targets) != round+1 {
				t.Errorf("%d targets, %v", len(page.Targets), err)
			}
		}
		// Pages that are read meanwhile are freed after the read.
		reader, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if _, err := s.Targets.Put(ctx, string(id(9)), record(member(9))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		reading, err := reader.Begin()
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := reading.QueryRow("SELECT count(*) FROM targets").Scan(&n); err != nil || n != 4 {
			t.Fatalf("%d targets, %v", n, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if first() == 0 {
			t.Error("what is being read was given back")
		}
		if err := reading.Rollback(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := first(); n != 0 {
			t.Errorf("after it was read there are %d bytes that were written first", n)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
}
