package plot

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// day returns a history of a day whose series has values at some minutes.
func day(unit string, values map[int]float64) document.History {
	const minute = int64(60e9)
	h := document.History{From: 0, Until: 24 * 60 * minute, Span: 5 * minute}
	s := document.HistorySeries{Text: "Targets", Unit: unit}
	for at := range 24 * 60 {
		if v, ok := values[at]; ok {
			s.Points = append(s.Points, document.HistoryPoint{At: int64(at) * minute, Value: v})
		}
	}
	h.Series = []document.HistorySeries{s}
	return h
}

// TestPlots: a line has a part for each time span without a gap, and a dot for a value alone. The newest value is
// unknown if it is old.
func TestPlots(t *testing.T) {
	last := 24*60 - 5
	for name, c := range map[string]struct {
		unit             string
		values           map[int]float64
		lines            []string
		dots             []Dot
		now, most, upper string
	}{
		"no values": {"", nil, nil, nil, "", "", ""},
		"a line": {"", map[int]float64{last - 10: 0, last - 5: 10, last: 5}, []string{"M554 102L556 4L558 53"}, nil,
			"5", "10", "10"},
		"a gap": {"", map[int]float64{0: 4, 5: 4, 60: 2}, []string{"M0 4L1 4"}, []Dot{{23, 53}}, "", "4", "4"},
		"zero":  {"", map[int]float64{last: 0}, nil, []Dot{{558, 102}}, "0", "0", "1"},
		"bytes": {"bytes", map[int]float64{last: 41e6}, nil, []Dot{{558, 22}}, "41 MB", "41 MB", "50 MB"},
		"cpus":  {"cpus", map[int]float64{last: 0.123}, nil, []Dot{{558, 22}}, "0.12", "0.12", "0.15"},
		"times": {"seconds", map[int]float64{last: 75}, nil, []Dot{{558, 21}}, "1.25 min", "1.25 min", "1.5 min"},
		"hours": {"seconds", map[int]float64{last: 9000}, nil, []Dot{{558, 4}}, "2.5 h", "2.5 h", "2.5 h"},
		"many":  {"", map[int]float64{last: 1234.5}, nil, []Dot{{558, 22}}, "1234", "1234", "1500"},
	} {
		h := day(c.unit, c.values)
		p := New(h, h.Series[0])
		if !slices.Equal(p.Lines, c.lines) || !slices.Equal(p.Dots, c.dots) || p.Now != c.now || p.Most != c.most ||
			p.Top != c.upper {
			t.Errorf("%s: %+v", name, p)
		}
		if !slices.Equal(p.Labels, []Label{{140, "06:00"}, {280, "12:00"}, {420, "18:00"}}) {
			t.Errorf("%s: %+v", name, p.Labels)
		}
	}
}

// TestDays: a plot of many days has labels of days.
func TestDays(t *testing.T) {
	h := document.History{From: 0, Until: 30 * 24 * 3600e9}
	got := timeLabels(h)
	if len(got) < 4 || len(got) > 7 || got[0].Text != "Jan 4" {
		t.Errorf("%+v", got)
	}
}
