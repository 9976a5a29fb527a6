package web

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/web/plot"
)

// jobsPage lists the jobs.
func jobsPage(v *visit) (*page, error) {
	offset, _ := strconv.Atoi(v.URL.Query().Get("offset"))
	at := route.Page{Offset: max(0, offset), Limit: rowsPerPage}
	all, err := get(v, route.Jobs(), at)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Jobs", Tab: "/jobs", Template: "jobs", Data: all, Command: "fettle job list",
		Address: address(route.Jobs(), at)}, nil
}

// jobRows is the largest number of targets that the page of a job shows.
const jobRows = 500

// jobData is a job whose targets with a problem come first.
type jobData struct {
	document.Job
	Total  int             // number of targets
	States []jobStateCount // of the targets, in the order of the table
}

// jobStateCount is the number of targets of a job in a state.
type jobStateCount struct {
	State document.JobState
	Count int
}

// jobPage shows a job with its output.
func jobPage(v *visit) (*page, error) {
	at := route.JobID{Job: v.PathValue("job")}
	j, err := get(v, route.Job(), at)
	if err != nil {
		return nil, err
	}
	return &page{Title: "Job " + j.ID, Tab: "/jobs", Template: "job", Data: newJobData(j),
		Command: commandOf("fettle", "job", "show", j.ID), Address: address(route.Job(), at)}, nil
}

func newJobData(j document.Job) jobData {
	order := []document.JobState{document.JobFailed, document.JobInterrupted, document.JobRefused, document.JobExpired,
		document.JobCancelled, document.JobAccepted, document.JobWaits, document.JobDone}
	d := jobData{Job: j, Total: len(j.Targets)}
	slices.SortStableFunc(d.Targets, func(a, b document.JobTarget) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
	for _, t := range d.Targets {
		if n := len(d.States); n == 0 || d.States[n-1].State != t.State {
			d.States = append(d.States, jobStateCount{State: t.State})
		}
		d.States[len(d.States)-1].Count++
	}
	d.Targets = d.Targets[:min(d.Total, jobRows)]
	return d
}

// eventsPage shows the newest events.
func eventsPage(v *visit) (*page, error) {
	at := route.EventQuery{Limit: 200}
	if kind := v.URL.Query().Get("kind"); kind != "" {
		at.Kinds = []string{kind}
	}
	all, err := get(v, route.Events(), at)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all.Events)
	return &page{Title: "Events", Tab: "/events", Template: "events", Data: all, Command: "fettle events",
		Address: address(route.Events(), at)}, nil
}

// hubsData is the data of the page of hubs.
type hubsData struct {
	document.HubPage
	Health       document.Health
	Repositories []document.Repository
}

// hubsPage shows the hubs, the checks of one of them, and the repositories.
func hubsPage(v *visit) (*page, error) {
	var d hubsData
	var err error
	if d.HubPage, err = get(v, route.Hubs(), route.None{}); err != nil {
		return nil, err
	}
	if d.Health, err = get(v, route.Health(), route.None{}); err != nil {
		return nil, err
	}
	repositories, err := get(v, route.Repositories(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Repositories = repositories.Repositories
	return &page{Title: "Hubs", Tab: "/hubs", Template: "hubs", Data: d, Command: "fettle hub list",
		Address: address(route.Hubs(), route.None{})}, nil
}

// auditData is a part of the audit log of one hub.
type auditData struct {
	document.AuditPage
	Entries []access.Record // the newest first
}

// auditPage shows the newest records of the audit log.
func auditPage(v *visit) (*page, error) {
	at := route.AuditQuery{Limit: 200}
	all, err := get(v, route.AuditLog(), at)
	if err != nil {
		return nil, err
	}
	d := auditData{AuditPage: all}
	for _, line := range slices.Backward(all.Records) {
		var r access.Record
		if json.Unmarshal([]byte(line), &r) == nil {
			d.Entries = append(d.Entries, r)
		}
	}
	for _, e := range slices.Backward(all.Entries) {
		d.Entries = append(d.Entries, access.Record{At: e.At, Entry: access.Entry{User: e.User, Credential: e.Credential,
			Operation: e.Operation, Object: e.Object, Outcome: e.Outcome, Reason: e.Reason, From: e.From}})
	}
	return &page{Title: "Audit log", Tab: "/audit", Template: "audit", Data: d, Command: "fettle audit list",
		Address: address(route.AuditLog(), at)}, nil
}

// historyData is the data of the page with plots.
type historyData struct {
	document.History
	Days          int
	Fleet, OfHost []plot.Plot
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
			d.OfHost = append(d.OfHost, plot.New(h, s))
		} else {
			d.Fleet = append(d.Fleet, plot.New(h, s))
		}
	}
	return &page{Title: "History", Tab: "/history", Template: "history", Data: d,
		Command: "fettle fleet history --days " + strconv.Itoa(at.Days), Address: address(route.History(), at)}, nil
}

// searchPage finds targets by name, identity or label, modules, the states that modules declare, commits, rollouts and
// runs.
func searchPage(v *visit) (*page, error) {
	at := route.SearchQuery{Text: strings.TrimSpace(v.URL.Query().Get("q"))}
	p := &page{Title: "Search", Template: "search", Data: document.Search{}}
	if at.Text == "" {
		return p, nil
	}
	d, err := get(v, route.Search(), at)
	if err != nil {
		return nil, err
	}
	words := []string{"fettle", "fleet", "search", at.Text}
	if strings.HasPrefix(at.Text, "-") {
		words = []string{"fettle", "fleet", "search", "--", at.Text}
	}
	p.Data, p.Command, p.Address = d, commandOf(words...), address(route.Search(), at)
	return p, nil
}
