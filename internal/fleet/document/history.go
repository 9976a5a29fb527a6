package document

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
	Unit   string         `json:"unit,omitempty"` // cpus, bytes or addresses; "" means targets
	Text   string         `json:"text"`
	Points []HistoryPoint `json:"points"`
}

// HistoryPoint is a value of the time span that begins at At.
type HistoryPoint struct {
	At    int64   `json:"at"`
	Value float64 `json:"value"`
}
