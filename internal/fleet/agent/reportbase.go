package agent

import (
	"encoding/json"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// reportBase knows what the hub at the other end has of this agent's reports, so that the next
// one says what is other and no more. It belongs to the loop.
type reportBase struct {
	fresh   []fleet.Report // not acknowledged, the newest few
	had     fleet.Report   // that the hub on this connection acknowledged last; none has the number 0
	part    bool           // the one under way is a part
	refused int            // parts, by the hub on this connection
	whole   time.Time      // when a whole one was acknowledged last
	all     bool           // the next one is to be whole: somebody lacks something
}

// How many reports that wait are remembered, and how long parts may follow each other: what
// is kept of a target has a whole report in it that is not much older than the newest. A hub
// that refuses so many parts knows none.
const (
	mostFresh   = 8
	partsFor    = 24 * time.Hour
	mostRefused = 3
)

// appended takes a report that is durable, or one that takes the place of the newest.
func (t *reportBase) appended(r fleet.Report) {
	t.fresh = slices.DeleteFunc(t.fresh, func(o fleet.Report) bool { return o.Seq >= r.Seq })
	t.fresh = append(t.fresh, r)
	t.fresh = slices.Delete(t.fresh, 0, max(len(t.fresh)-mostFresh, 0))
}

// body is the text of a report as it is sent; kept reads it from the outbox.
func (t *reportBase) body(seq uint64, now time.Time, kept func(seq uint64) ([]byte, error)) ([]byte, error) {
	t.part = false
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

// acknowledged takes how the hub answered to the report under way.
func (t *reportBase) acknowledged(seq uint64, failed bool, now time.Time) {
	if failed {
		if t.part {
			t.refused++
		}
		t.had = fleet.Report{} // it gets this one whole
		return
	}
	if !t.part {
		t.whole, t.all = now, false
	}
	t.had, _ = t.find(seq)
	t.fresh = slices.DeleteFunc(t.fresh, func(r fleet.Report) bool { return r.Seq <= seq })
}

// tellAll has the next report be whole.
func (t *reportBase) tellAll() { t.all = true }

// connected forgets what a hub had, since it may be another one.
func (t *reportBase) connected() { t.had, t.refused = fleet.Report{}, 0 }
