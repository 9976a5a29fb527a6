package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// History has one series.
type History struct{}

// History implements api.History.
func (History) History(_ context.Context, q route.HistoryQuery) (document.History, error) {
	return document.History{Format: document.HistoryFormat, Hub: "hub1", From: 1e18, Until: 1e18 + int64(max(1, q.Days)),
		Span: 1, Series: []document.HistorySeries{{Name: "targets", Text: "Active targets",
			Points: []document.HistoryPoint{{At: 1e18, Value: 3}}},
			{Name: "run_95", Unit: "seconds", Text: "95th percentile of run times",
				Points: []document.HistoryPoint{{At: 1e18, Value: 75}}}}}, nil
}
