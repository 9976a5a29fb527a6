package view_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// TestRuns: runs are found by their number, of one target or of all, and by the beginning of a commit to which they
// changed a module. Other events with the number of a run are not runs.
func TestRuns(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0), member(1))
	seq := uint64(0)
	report := func(target, run int, kind fleet.EventKind, commits ...int) {
		t.Helper()
		seq++
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: seq, At: at(int(seq)).UnixNano(),
			Event: fleet.Event{Kind: kind, Run: run}}
		for i, c := range commits {
			r.Status.Modules = append(r.Status.Modules, fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i),
				State: fleet.ModuleReady, Commit: commit(c), Bundle: fmt.Sprintf("sha256:%064x", c)})
		}
		if err := v.Append(t.Context(), seq, [][]byte{record(r)}); err != nil {
			t.Fatal(err)
		}
	}
	report(0, 1, fleet.Applied, 0xa1, 0xa1)
	report(1, 1, fleet.Applied, 0xa1, 0xa1)
	report(0, 1, fleet.Ready, 0xa1, 0xa1)
	report(0, 2, fleet.Applied, 0xb2, 0xa1)
	report(1, 2, fleet.Failed, 0xb2, 0xa1)
	report(1, 2, fleet.Drifted, 0xb2, 0xa1)
	report(1, 0, fleet.Failed, 0xb2, 0xa1)
	want := func(q view.RunQuery, more int, want string) {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		found, left, err := view.Runs(t.Context(), v, q)
		var got []string
		for _, e := range found {
			got = append(got, fmt.Sprintf("%s %s %d", e.Name, e.Kind, e.Run))
		}
		if text := strings.Join(got, ", "); err != nil || text != want || left != more {
			t.Errorf("%+v: %q and %d more, %v; want %q", q, text, left, err, want)
		}
	}
	want(view.RunQuery{Run: 1}, 0, "t1 applied 1, t0 applied 1")
	want(view.RunQuery{Run: 1, Limit: 1}, 1, "t1 applied 1")
	want(view.RunQuery{Run: 2, Target: "t1"}, 0, "t1 failed 2")
	want(view.RunQuery{Run: 2, Target: string(id(0))}, 0, "t0 applied 2")
	want(view.RunQuery{Run: 2, Target: "none"}, 0, "")
	want(view.RunQuery{Run: 9}, 0, "")
	want(view.RunQuery{Commit: commit(0xb2)}, 0, "t1 failed 2, t0 applied 2")
	want(view.RunQuery{Commit: commit(0xa1)[:39]}, 0, "t1 applied 1, t0 applied 1")
	want(view.RunQuery{Commit: commit(0xb2), Target: "t0"}, 0, "t0 applied 2")
	want(view.RunQuery{Commit: "modules/m0*"}, 0, "")
	want(view.RunQuery{}, 0, "")
}

// TestPartsInUse: content that several commits have counts once, with its targets. Targets that left the fleet, and
// withdrawn assignments, do not count.
func TestPartsInUse(t *testing.T) {
	v := open(t, view.Options{})
	gone := member(3)
	gone.Standing = fleet.Retired
	put(t, v, member(0), member(1), member(2), gone)
	for n := range 5 {
		a := assignment(n, 1, 2)
		if n == 1 {
			a.Modules[0].Revision.Commit, a.Modules[0].Revision.Time = commit(9), 9
			a.Modules[1].Bundle.Digest = fmt.Sprintf("sha256:%064x", 7)
		}
		if n == 2 {
			a.Withdrawn = "why"
		}
		if err := v.PutAssignment(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	parts, err := view.PartsInUse(t.Context(), v, 1)
	got := ""
	for _, p := range parts {
		got += fmt.Sprintf("%s %s %s %d %v\n", p.Module, p.Bundle.Digest[70:], p.Revision.Commit[39:], p.Targets, p.First)
	}
	want := " 1 1 2 [t0]\nmodules/m0 1 9 2 [t0]\nmodules/m1 1 1 1 [t0]\nmodules/m1 7 1 1 [t1]\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}
