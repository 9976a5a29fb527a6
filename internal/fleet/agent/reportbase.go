package agent

import (
	"encoding/json"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// reportBase is the last report that the connected hub acknowledged. The agent then sends only the
// difference to it, a partial report. It belongs to the loop.
type reportBase struct {
	fresh   []fleet.Report // the newest reports that are not acknowledged yet
	had     fleet.Report   // the last report that the connected hub acknowledged; number 0 means none
	part    bool           // the report in transit is partial
	earlier bool           // the report in transit was sent on an earlier connection
	refused int            // number of partial reports that the connected hub refused
	whole   time.Time      // time at which a hub last acknowledged a full report
	all     bool           // the next report must be full, because a hub requested it
}

// Limits of partial reports. mostFresh is the number of remembered reports. A full report is sent
// at least every partsFor, so that a hub never stores a long chain of differences. After
// mostRefused refusals, the agent sends only full reports to this hub.
const (
	mostFresh   = 8
	partsFor    = 24 * time.Hour
	mostRefused = 3
)

// appended adds a report after it is durable. It can also replace the newest report.
func (t *reportBase) appended(r fleet.Report) {
	t.fresh = slices.DeleteFunc(t.fresh, func(o fleet.Report) bool { return o.Seq >= r.Seq })
	t.fresh = append(t.fresh, r)
	t.fresh = slices.Delete(t.fresh, 0, max(len(t.fresh)-mostFresh, 0))
}

// body returns the report with the number seq as it is sent: a partial report if possible,
// otherwise the full report that kept reads from the outbox.
func (t *reportBase) body(seq uint64, now time.Time, kept func(seq uint64) ([]byte, error)) ([]byte, error) {
	t.part, t.earlier = false, false
	if r, ok := t.find(seq); ok && !t.all && t.refused < mostRefused && now.Sub(t.whole) < partsFor {
		var part fleet.Report
		if part, t.part = r.Part(t.had); t.part {
			return json.Marshal(part)
		}
	}
	return kept(seq)
}

func (t *reportBase) find(seq uint64) (fleet.Report, bool) {
	i := slices.IndexFunc(t.fresh, func(r fleet.Report) bool { return r.Seq == seq })
	if i < 0 {
		return fleet.Report{}, false
	}
	return t.fresh[i], true
}

// acknowledged records the answer of the hub to the report in transit.
func (t *reportBase) acknowledged(seq uint64, failed bool, now time.Time) {
	if failed {
		if t.part {
			t.refused++
		}
		t.had = fleet.Report{} // the hub gets the full report next
		return
	}
	if !t.part {
		t.whole, t.all = now, false
	}
	if !t.earlier {
		t.had, _ = t.find(seq)
	}
	t.fresh = slices.DeleteFunc(t.fresh, func(r fleet.Report) bool { return r.Seq <= seq })
}

// tellAll makes the next report a full report.
func (t *reportBase) tellAll() { t.all = true }

// connected forgets the base after a new connection, because it can be to a different hub. A late acknowledgement of
// the report in transit is from the earlier hub.
func (t *reportBase) connected() { t.had, t.refused, t.earlier = fleet.Report{}, 0, true }
