package view_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// A run belongs to the history of exactly the modules whose versions it changed, although its event
// names none.
func TestModuleHistory(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0))
	report := func(seq int, kind fleet.EventKind, module string, bundles ...int) {
		t.Helper()
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(0), Seq: uint64(seq), At: at(seq).UnixNano(),
			Event: fleet.Event{Kind: kind, Run: seq, Module: module}}
		for i, b := range bundles {
			m := fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i), State: fleet.ModulePending}
			if b > 0 {
				m.Commit, m.Bundle, m.State = commit(b), fmt.Sprintf("sha256:%064x", b), fleet.ModuleReady
			}
			r.Status.Modules = append(r.Status.Modules, m)
		}
		if err := v.Append(t.Context(), uint64(seq), [][]byte{record(r)}); err != nil {
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

// A target without modules reports none.
func TestNoModulesLeft(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0))
	for seq := 1; seq <= 3; seq++ {
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(0), Seq: uint64(seq), Event: fleet.Event{Kind: fleet.Ready}}
		if seq != 2 {
			r.Status.Modules = []fleet.ModuleStatus{{Module: "modules/m0", State: fleet.ModuleReady, Commit: commit(1)}}
		}
		if err := v.Append(t.Context(), uint64(seq), [][]byte{record(r)}); err != nil {
			t.Fatal(err)
		}
		d, err := v.Target(t.Context(), "t0", at(0))
		if want := seq % 2; err != nil || len(d.Modules) != want {
			t.Errorf("after report %d: %+v, %v", seq, d.Modules, err)
		}
	}
}

// Texts that targets share are returned for each target, also after some of them were removed.
func TestPhrases(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0), member(1))
	kinds := []fleet.EventKind{fleet.Accepted, fleet.Applied, fleet.Drifted, fleet.Ready}
	want := map[string]string{}
	for seq, kind := range kinds {
		for n := range 2 {
			r := fleet.Report{Format: fleet.ReportFormat, Target: id(n), Seq: uint64(seq + 1), At: at(seq).UnixNano(),
				Event: fleet.Event{Kind: kind}}
			if kind != fleet.Ready {
				r.Event.Text = fmt.Sprint(kind, " of generation 1.", seq)
			}
			want[fmt.Sprint("t", n, kind)] = r.Event.Text
			if err := v.Append(t.Context(), uint64(2*seq+n+1), [][]byte{record(r)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for left := len(want); left > 0; left -= 2 {
		if err := v.Prune(t.Context(), at(4-left/2).Add(view.DefaultAge)); err != nil {
			t.Fatal(err)
		}
		page, err := v.Events(t.Context(), view.EventQuery{After: "0.0"})
		if err != nil || len(page.Events) != left {
			t.Fatalf("%d events, not %d, %v", len(page.Events), left, err)
		}
		for _, e := range page.Events {
			if e.Text != want[e.Name+e.Kind] {
				t.Errorf("%s said %q, not %q", e.Name, e.Text, want[e.Name+e.Kind])
			}
		}
	}
}
