package history

import (
	"context"
	"math"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxPoints is the maximum number of points of a series.
const maxPoints = 288

// History returns the numbers of the last days: one by default, and at most Days. Each series has at most 289 points. A
// point is the mean of its time span, or the largest value of numbers that should be small.
func (h *History) History(_ context.Context, q route.HistoryQuery) (document.History, error) {
	days := min(max(q.Days, 1), Days)
	now := h.Now()
	from := now.Add(-time.Duration(days) * 24 * time.Hour)
	span := int64(days) * int64(24*time.Hour/time.Second) / maxPoints
	d := document.History{Format: document.HistoryFormat, Hub: h.Hub, From: from.UnixNano(), Until: now.UnixNano(),
		Span: span * int64(time.Second), Series: []document.HistorySeries{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, each := range all() {
		d.Series = append(d.Series, document.HistorySeries{Name: each.name, Unit: each.unit, Text: each.text,
			Points: points(h.samples, i, each.worst, from.Unix(), span)})
	}
	return d, nil
}

// points returns the points of one series. A time span without a known value has no point.
func points(samples []sample, series int, worst bool, from, span int64) []document.HistoryPoint {
	out := []document.HistoryPoint{}
	for i := 0; i < len(samples); {
		start := samples[i].at - samples[i].at%span
		sum, most, n := 0.0, math.Inf(-1), 0.0
		for ; i < len(samples) && samples[i].at < start+span; i++ {
			if v := samples[i].values[series]; samples[i].at >= from && !math.IsNaN(v) {
				sum, most, n = sum+v, max(most, v), n+1
			}
		}
		switch {
		case n == 0:
		case worst:
			out = append(out, document.HistoryPoint{At: start * int64(time.Second), Value: most})
		default:
			out = append(out, document.HistoryPoint{At: start * int64(time.Second), Value: sum / n})
		}
	}
	return out
}
