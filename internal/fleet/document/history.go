package document

import "fmt"

// HistoryFormat is the format of History.
const HistoryFormat = "fettle.fleet.history/1"

// History contains numbers over time, from the samples of one hub. Times are in ns since 1970.
type History struct {
	Format string `json:"format"`
	Hub    string `json:"hub"`
	From   int64  `json:"from"`
	Until  int64  `json:"until"`
	// Span is the time between two points. Where the hub was down, points are missing.
	Span   int64           `json:"span_ns"`
	Series []HistorySeries `json:"series"`
}

// HistorySeries is one number over time.
type HistorySeries struct {
	Name   string         `json:"name"`
	Unit   string         `json:"unit,omitempty"` // cpus, bytes, addresses, runs or seconds; "" means targets
	Text   string         `json:"text"`
	Points []HistoryPoint `json:"points"`
}

// ValueText returns a value of the series with its unit, for users.
func (s HistorySeries) ValueText(v float64) string {
	switch {
	case s.Unit == "bytes":
		return fmt.Sprintf("%.0f MB", v/1e6)
	case s.Unit == "cpus":
		return fmt.Sprintf("%.2f", v)
	case s.Unit == "seconds":
		return secondsText(v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// HistoryPoint is a value of the time span that begins at At.
type HistoryPoint struct {
	At    int64   `json:"at"`
	Value float64 `json:"value"`
}

// secondsText returns a time for users, with about three digits.
func secondsText(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.0f ms", v*1000)
	case v < 60:
		return fmt.Sprintf("%.3g s", v)
	case v < 3600:
		return fmt.Sprintf("%.3g min", v/60)
	}
	return fmt.Sprintf("%.3g h", v/3600)
}
