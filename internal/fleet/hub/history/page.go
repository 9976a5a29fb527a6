package history

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxPoints is the maximum number of points of a series.
const maxPoints = 288

// HandleRoutes registers the handler of the history.
func (h *History) HandleRoutes(t *api.Table) { api.HandleGetAt(t, route.History(), h.History) }

// History returns the numbers of the last days: one by default, and at most Days. Each series has at most 289 points. A
// point is the mean of its time span, or the largest value of numbers that should be small. Numbers of runs are about
// all runs of the time span.
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
			Points: points(h.samples, each.valueOf(i), from.Unix(), span)})
	}
	return d, nil
}

// points returns the points of one series. A time span without a known value has no point.
func points(samples []sample, value func([]sample) float64, from, span int64) []document.HistoryPoint {
	out := []document.HistoryPoint{}
	first, _ := slices.BinarySearchFunc(samples, from, func(s sample, from int64) int { return cmp.Compare(s.at, from) })
	for i := first; i < len(samples); {
		start := samples[i].at - samples[i].at%span
		end := i
		for end < len(samples) && samples[end].at < start+span {
			end++
		}
		if v := value(samples[i:end]); !math.IsNaN(v) {
			out = append(out, document.HistoryPoint{At: start * int64(time.Second), Value: v})
		}
		i = end
	}
	return out
}

// valueOf returns the function for the value of a time span, from its samples. place is the place of the series in
// all(). NaN is unknown.
func (s series) valueOf(place int) func([]sample) float64 {
	switch {
	case s.runs != nil:
		return func(part []sample) float64 { return valueOfRuns(part, s.runs) }
	case s.worst:
		return func(part []sample) float64 {
			_, _, most := sumOf(part, place)
			return most
		}
	}
	return func(part []sample) float64 {
		sum, n, _ := sumOf(part, place)
		return sum / n // NaN without a value
	}
}

// sumOf returns the sum of the known values, their number and the largest one; NaN without a value.
func sumOf(part []sample, place int) (sum, n, most float64) {
	most = math.NaN()
	for _, each := range part {
		if v := each.values[place]; !math.IsNaN(v) {
			if sum, n = sum+v, n+1; math.IsNaN(most) || v > most {
				most = v
			}
		}
	}
	return sum, n, most
}

// valueOfRuns returns a number of all known runs of a time span.
func valueOfRuns(part []sample, of func(*runCounter) float64) float64 {
	var all runCounter
	known := false
	for _, each := range part {
		if each.runs != nil {
			all.add(each.runs)
			known = true
		}
	}
	if !known {
		return math.NaN()
	}
	return of(&all)
}
