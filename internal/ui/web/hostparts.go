package web

import (
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// hostTabs are the links between the pages of a target.
type hostTabs struct{ Name, Here string }

// unansweredData explains why a page has no data of the host.
type unansweredData struct {
	Now     time.Time
	Problem *document.Problem
	Target  document.Target
}

func newUnanswered(now time.Time, p *document.Problem, t document.Target) unansweredData {
	return unansweredData{now, p, t}
}
