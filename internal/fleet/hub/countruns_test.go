package hub

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// TestRunsOfANewReadModel: while a read model is created from the log, no run counts, because it would be an old one.
func TestRunsOfANewReadModel(t *testing.T) {
	v, err := view.Open(filepath.Join(t.TempDir(), "view.db"), view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	c := &data{view: v}
	add := func(seq uint64) {
		t.Helper()
		text, err := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Seq: seq,
			Event: fleet.Event{Kind: fleet.Applied, Run: 1, Duration: int64(seq)}})
		if err == nil {
			err = v.Append(t.Context(), seq, [][]byte{text})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(after, until uint64, known bool, want time.Duration) {
		t.Helper()
		sum := time.Duration(0)
		got, err := c.runTimes(t.Context(), after, func(d time.Duration) { sum += d })
		if got != until || (err == nil) != known || sum != want {
			t.Errorf("after %d: until %d, %v, %v", after, got, err, sum)
		}
	}
	count(0, 0, false, 0) // the log was not read yet
	c.logEnd.Store(3)
	add(1)
	add(2)
	count(0, 0, false, 0)
	count(9, 9, false, 0)
	add(3)
	count(0, 3, true, 6)
	count(2, 3, true, 3)
	add(4)
	count(3, 4, true, 4)
	count(9, 4, true, 0) // the log was replaced
}
