package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// HistoryQuery selects a part of the history.
type HistoryQuery struct {
	Days int `query:"days" does:"the number of days until now, at most 30; without it, one"`
}

func ofHistory() []Row { return []Row{History().Row} }

// History returns numbers of the fleet and of this hub over time.
func History() (r Route[HistoryQuery, None, document.History]) {
	return r.get(access.Read, "/v1/fleet/history", "Show numbers of the fleet and of this hub over time")
}
