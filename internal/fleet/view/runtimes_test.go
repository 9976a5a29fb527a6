package view_test

import (
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// TestRunTimes: each ended run counts once, after the position of the last call. Reports of older agents, repeated
// reports and impossible values do not count.
func TestRunTimes(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0), member(1))
	report := func(target, seq int, kind fleet.EventKind, d int64) []byte {
		return record(fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: uint64(seq),
			At: at(seq).UnixNano(), Event: fleet.Event{Kind: kind, Run: seq, Duration: d}})
	}
	position := uint64(0)
	want := func(what, want string) {
		t.Helper()
		got := ""
		until, err := v.RunTimes(t.Context(), position, func(d time.Duration) { got += fmt.Sprint(d, " ") })
		if err != nil || got != want {
			t.Errorf("%s: %q, want %q, %v", what, got, want, err)
		}
		position = until
	}
	add := func(seq uint64, records ...[]byte) {
		t.Helper()
		if err := v.Append(t.Context(), seq, records); err != nil {
			t.Fatal(err)
		}
	}
	want("an empty log", "")
	add(1, report(0, 1, fleet.Applied, 5e9), report(1, 1, fleet.Failed, 7), report(1, 2, fleet.Applied, 0))
	add(2, report(0, 2, fleet.Drifted, 3), report(0, 3, fleet.Repaired, -3), report(0, 4, fleet.Applied, 1<<62))
	want("two runs", "5s 7ns ")
	want("the same position", "")
	add(3, report(0, 1, fleet.Applied, 5e9), report(0, 5, fleet.RolledBack, 9))
	want("a repeated report", "9ns ")
	if position != 3 {
		t.Errorf("position %d", position)
	}
	page, err := v.Events(t.Context(), view.EventQuery{After: "0.0"})
	if err != nil || page.Events[0].Duration != 5e9 || page.Events[2].Duration != 0 || page.Events[4].Duration != 0 {
		t.Errorf("%+v %v", page.Events, err)
	}
}
