package agent

import (
	"encoding/json"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// TestLateAcknowledgement: after a new connection, the next report is full, although the hub of the earlier connection
// acknowledges a report late.
func TestLateAcknowledgement(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, late := range []bool{false, true} {
		base := reportBase{whole: now}
		send := func(seq uint64) (since uint64) {
			r := fleet.Report{Format: fleet.ReportFormat, Seq: seq}
			base.appended(r)
			text, err := base.body(seq, now, func(uint64) ([]byte, error) { return json.Marshal(r) })
			if err != nil || json.Unmarshal(text, &r) != nil {
				t.Fatal(err, string(text))
			}
			return r.Since
		}
		send(1)
		base.acknowledged(1, false, now)
		if since := send(2); since != 1 {
			t.Fatalf("the second report is since %d", since)
		}
		if late {
			base.connected()
		}
		base.acknowledged(2, false, now)
		want := uint64(2)
		if late {
			want = 0
		}
		if since := send(3); since != want {
			t.Errorf("late %t: the report is since %d; want %d", late, since, want)
		}
		base.acknowledged(3, false, now)
		if since := send(4); since != 3 {
			t.Errorf("late %t: the next report is since %d", late, since)
		}
	}
}
