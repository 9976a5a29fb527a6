package view_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// A run is of the history of each module whose version it changed, though its event names
// none; and only of those.
func TestModuleHistory(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0))
	report := func(seq int, kind fleet.EventKind, module string, bundles ...int) {
		t.Helper()
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(0), Seq: uint64(seq), At: at(seq).UnixNano(), Event: fleet.Event{Kind: kind, Run: seq, Module: module}}
		for i, b := range bundles {
			m := fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i), State: fleet.ModulePending}
			if b > 0 {
				m.Commit, m.Bundle, m.State = commit(b), fmt.Sprintf("sha256:%064x", b), fleet.ModuleReady
			}
			r.Status.Modules = append(r.Status.Modules, m)
		}
		if err := v.Take(t.Context(), uint64(seq), [][]byte{record(r)}); err != nil {
			t.Fatal(err)
		}
	}
	report(1, fleet.Accepted, "", 0, 0)
	report(2, fleet.Applied, "", 1, 1)
	report(3, fleet.Ready, "", 1, 1)
	report(4, fleet.Drifted, "modules/m1", 1, 1)
	report(5, fleet.Applied, "", 1, 2)
	report(6, fleet.Applied, "", 3, 2)
	look := func(module string, want ...int) {
		t.Helper()
		page, err := v.Events(t.Context(), view.EventQuery{Module: module, After: "0.0"})
		var got []int
		for _, e := range page.Events {
			got = append(got, e.Run)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", module, got, err)
		}
	}
	look("modules/m0", 2, 6)
	look("modules/m1", 2, 4, 5)
	look("modules/none")
	if err := v.Prune(t.Context(), at(0)); err != nil {
		t.Fatal(err)
	}
	look("modules/m0", 2, 6)
	if err := v.Prune(t.Context(), at(5).Add(view.DefaultAge)); err != nil {
		t.Fatal(err)
	}
	look("modules/m0", 6)
}

// A target that has no module any more says nothing of one.
func TestNoModulesLeft(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0))
	for seq := 1; seq <= 3; seq++ {
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(0), Seq: uint64(seq), Event: fleet.Event{Kind: fleet.Ready}}
		if seq != 2 {
			r.Status.Modules = []fleet.ModuleStatus{{Module: "modules/m0", State: fleet.ModuleReady, Commit: commit(1)}}
		}
		if err := v.Take(t.Context(), uint64(seq), [][]byte{record(r)}); err != nil {
			t.Fatal(err)
		}
		d, err := v.Target(t.Context(), "t0", at(0))
		if want := seq % 2; err != nil || len(d.Modules) != want {
			t.Errorf("after report %d: %+v, %v", seq, d.Modules, err)
		}
	}
}
