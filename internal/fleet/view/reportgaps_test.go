package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/view"
)

// partOf returns a partial report with a predecessor.
func partOf(target, seq, since int) []byte {
	var r fleet.Report
	if err := json.Unmarshal(said(target, seq, 1, fleet.ModuleReady), &r); err != nil {
		panic(err)
	}
	r.Since = uint64(since)
	return record(r)
}

// A target is incomplete without a report, or with a partial report whose predecessor is missing,
// until a full report arrives.
func TestReportGaps(t *testing.T) {
	v, err := view.Open(filepath.Join(t.TempDir(), "view.db"), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	gone := member(3)
	gone.Standing = fleet.Retired
	put(t, v, member(0), member(1), member(2), gone)
	seq := uint64(0)
	for _, c := range []struct {
		then []byte
		want []int
	}{
		{nil, []int{0, 1, 2}},
		{said(0, 1, 1, fleet.ModuleReady), []int{1, 2}},
		{partOf(0, 2, 1), []int{1, 2}},
		{partOf(1, 9, 8), []int{1, 2}},
		{partOf(1, 10, 9), []int{1, 2}}, // behind one that lacks something itself
		{partOf(0, 4, 3), []int{0, 1, 2}},
		{said(0, 3, 1, fleet.ModuleReady), []int{0, 1, 2}}, // late, and older
		{said(1, 11, 1, fleet.ModuleReady), []int{0, 2}},
		{said(0, 5, 1, fleet.ModuleReady), []int{2}},
	} {
		if c.then != nil {
			seq++
			if err := v.Append(t.Context(), seq, [][]byte{c.then}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := v.ReportGaps(t.Context())
		var want []fleet.TargetID
		for _, n := range c.want {
			want = append(want, id(n))
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after %s: %v, %v; want %v", c.then, got, err, want)
		}
	}
}

// A model that is created again while it is open gets the modules of each target again.
func TestModulesAfterAnotherLog(t *testing.T) {
	v, err := view.Open(filepath.Join(t.TempDir(), "view.db"), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	targets, assignments := bustest.NewStore(), bustest.NewStore()
	_, err = targets.Put(t.Context(), string(id(0)), record(member(0)))
	if _, err2 := assignments.Put(t.Context(), string(id(0)), assignment(0, 1, 1).Marshal()); errors.Join(err,
		err2) != nil {
		t.Fatal(err, err2)
	}
	open := func(e fleet.Entry) (fleet.Assignment, error) { return fleet.ParseAssignment(e.Value) }
	for n := range 2 {
		log := bustest.NewLog()
		r := said(0, 1, 1, fleet.ModuleReady)
		if _, err := log.Append(t.Context(), [][][]byte{{r}, {r, r}}[n]); err != nil { // another one that says the same
			t.Fatal(err)
		}
		emptied := v.Changed()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- v.Follow(ctx, view.Sources{Log: log, Targets: targets, Assignments: assignments, Open: open})
		}()
		<-emptied
		bustest.Await(t, "the end of the log", func() bool {
			at, err := v.LogPosition(t.Context())
			return err == nil && at == 1
		})
		bustest.Await(t, "the modules", func() bool {
			page, err := v.Modules(t.Context(), at(100))
			return err == nil && len(page.Modules) == 1 && page.Modules[0].States[fleet.ModuleReady] == 1
		})
		stop()
		<-ended
	}
}
