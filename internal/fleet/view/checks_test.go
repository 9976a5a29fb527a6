package view_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// tested returns a report with results of checks.
func tested(target, seq int, checks ...fleet.CheckResult) []byte {
	return record(fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: uint64(seq), Boot: "b",
		At: at(seq).UnixNano(), Event: fleet.Event{Kind: fleet.Checked}, Status: fleet.Status{Checks: checks}})
}

func result(scope, check string, o fleet.CheckOutcome) fleet.CheckResult {
	return fleet.CheckResult{Scope: scope, Check: check, Digest: "d1", Outcome: o, Since: 7, Text: "why"}
}

// The newest report of a target replaces its results, also with none. Old reports change nothing.
func TestChecks(t *testing.T) {
	v := open(t, view.Options{})
	ok := result("cluster/search", "formed", fleet.CheckOK)
	failed := result("cluster/search", "formed", fleet.CheckFailed)
	rack := result("rack/a", "power", fleet.CheckPending)
	put(t, v, member(0), member(1))
	log := uint64(0)
	says := func(records ...[]byte) {
		t.Helper()
		log++
		if err := v.Append(t.Context(), log, records); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want map[fleet.TargetID][]fleet.CheckResult, scopes ...string) {
		t.Helper()
		got, err := view.ChecksOf(t.Context(), v, scopes...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, %v", scopes, got, err)
		}
	}
	want(map[fleet.TargetID][]fleet.CheckResult{})
	says(tested(0, 2, rack, ok), tested(1, 1, failed))
	want(map[fleet.TargetID][]fleet.CheckResult{id(0): {ok, rack}, id(1): {failed}})
	want(map[fleet.TargetID][]fleet.CheckResult{id(0): {rack}}, "rack/a")
	want(map[fleet.TargetID][]fleet.CheckResult{}, "rack/b")
	says(tested(0, 1, failed)) // late
	says(tested(1, 2, ok))
	if err := v.Prune(t.Context(), at(3)); err != nil {
		t.Fatal(err)
	}
	want(map[fleet.TargetID][]fleet.CheckResult{id(0): {ok}, id(1): {ok}}, "cluster/search")
	says(tested(0, 3))
	want(map[fleet.TargetID][]fleet.CheckResult{id(1): {ok}})
}

// A compromised host can report anything: only valid results within the limits count.
func TestInvalidChecks(t *testing.T) {
	v := open(t, view.Options{})
	long := result("cluster/search", "formed", fleet.CheckOK)
	long.Text = strings.Repeat("é", fleet.MaxCheckText)
	all := []fleet.CheckResult{long, result("cluster/search", "formed", fleet.CheckFailed), result("", "x", fleet.CheckOK),
		result("cluster/a", "", fleet.CheckOK), result(strings.Repeat("x", 300), "y", fleet.CheckOK),
		result("cluster/a", "b", "excellent"), {Scope: "cluster/a", Check: "c", Outcome: fleet.CheckOK}}
	for i := range 2 * fleet.MaxChecks {
		all = append(all, result("rack/z", strings.Repeat("y", i+1), fleet.CheckOK))
	}
	if err := v.Append(t.Context(), 1, [][]byte{tested(0, 1, all...)}); err != nil {
		t.Fatal(err)
	}
	got, err := view.ChecksOf(t.Context(), v)
	if err != nil || len(got[id(0)]) != fleet.MaxChecks-1 {
		t.Fatalf("%d results, %v", len(got[id(0)]), err)
	}
	r := got[id(0)][0]
	if r.Outcome != fleet.CheckOK || len(r.Text) > fleet.MaxCheckText || !strings.HasSuffix(r.Text, "é…") {
		t.Errorf("%+v", r)
	}
}

// The detail of a target shows a failure until a new report, and no other result of a silent target.
func TestChecksOfTarget(t *testing.T) {
	v := open(t, view.Options{Silence: quiet})
	put(t, v, member(0))
	err := v.Append(t.Context(), 1, [][]byte{tested(0, 1, result("rack/a", "a", fleet.CheckOK),
		result("rack/a", "b", fleet.CheckFailed))})
	if err != nil {
		t.Fatal(err)
	}
	want := func(now time.Time, outcomes ...fleet.CheckOutcome) {
		t.Helper()
		d, err := v.Target(t.Context(), "t0", now)
		var got []fleet.CheckOutcome
		for _, r := range d.Checks {
			got = append(got, r.Outcome)
		}
		if err != nil || !reflect.DeepEqual(got, outcomes) {
			t.Errorf("%v, %v", got, err)
		}
	}
	want(at(2), fleet.CheckOK, fleet.CheckFailed)
	want(at(2).Add(2*quiet), fleet.CheckUnknown, fleet.CheckFailed)
	cloned := member(0)
	cloned.Suspect = &fleet.Suspicion{Reason: "b", Copies: make([]fleet.Copy, 2)}
	put(t, v, cloned)
	want(at(2), fleet.CheckUnknown, fleet.CheckUnknown)
}
