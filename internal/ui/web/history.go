package web

import (
	"strconv"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// historyData is the data of the page with plots.
type historyData struct {
	document.History
	Days          int
	Fleet, OfHost []plot
}

// historyPage shows numbers of the fleet and of a hub over time.
func historyPage(v *visit) (*page, error) {
	days, _ := strconv.Atoi(v.URL.Query().Get("days"))
	at := route.HistoryQuery{Days: min(max(days, 1), 30)}
	h, err := get(v, route.History(), at)
	if err != nil {
		return nil, err
	}
	d := historyData{History: h, Days: at.Days}
	for _, s := range h.Series {
		if s.Unit == "cpus" || s.Unit == "bytes" {
			d.OfHost = append(d.OfHost, newPlot(h, s))
		} else {
			d.Fleet = append(d.Fleet, newPlot(h, s))
		}
	}
	return &page{Title: "History", Tab: "/history", Template: "history", Data: d,
		Command: "fettle fleet history --days " + strconv.Itoa(at.Days), Address: address(route.History(), at)}, nil
}
