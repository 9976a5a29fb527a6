package web

import (
	"cmp"
	"maps"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/ui/web/versions"
)

// New returns a Site.
func New(c Config) *Site {
	s := &Site{Config: c, mux: http.NewServeMux(), runs: &hostRuns{}, shared: versions.NewShared()}
	s.Refresh = cmp.Or(s.Refresh, 3*time.Second)
	if s.Now == nil {
		s.Now = time.Now
	}
	asking := hostPages()
	if s.pages = pages(); s.Host != nil {
		s.pages, s.Changed = pagesOfHost(), s.runs.changed
		maps.Copy(asking, map[string]pageFunc{"/targets/{target}/plan": planPage,
			"/targets/{target}/confirm": confirmPage, "/targets/{target}/recover": recoverPage})
	}
	if s.Host == nil {
		asking["/differences"] = differencesPage      // each update would compile again
		asking["/locks/{lock}/release"] = releasePage // it is about the holder that the user has seen
	}
	for path, read := range s.pages {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, read) })
	}
	for path, read := range asking {
		s.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, still(read)) })
	}
	for path, do := range s.changes() {
		s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.change(w, r, do) })
	}
	s.mux.HandleFunc("GET /assets/{digest}/{file}", serveAsset)
	s.mux.HandleFunc("GET /live", s.live)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, noPage) })
	s.handler = http.NewCrossOriginProtection().Handler(secured(s.mux))
	return s
}

// pages returns the function of each page, by its pattern.
func pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":                   fleetPage,
		"/targets/{target}":      targetPage,
		"/commits/{commit}":      commitPage,
		"/modules":               modulesPage,
		"/modules/{module...}":   modulePage,
		"/rollouts":              rolloutsPage,
		"/rollouts/{rollout}":    rolloutPage,
		"/inbox":                 inboxPage,
		"/jobs":                  jobsPage,
		"/jobs/{job}":            jobPage,
		"/events":                eventsPage,
		"/history":               historyPage,
		"/hubs":                  hubsPage,
		"/audit":                 auditPage,
		"/search":                searchPage,
		"/locks":                 locksPage,
		"/barriers":              barriersPage,
		"/signals":               signalsPage,
		"/signals/{signal}":      signalPage,
		"/scopes":                scopesPage,
		"/scopes/tree":           scopeTreePage,
		"/scopes/{kind}/{scope}": scopePage,
		"/tasks":                 tasksPage,
		"/environments":          environmentsPage,
	}
}

// pagesOfHost returns the function of each page that updates itself, for a site without a hub.
func pagesOfHost() map[string]pageFunc {
	return map[string]pageFunc{"/{$}": overviewPage, "/targets/{target}": overviewPage,
		"/targets/{target}/progress": progressPage}
}

// hostPages returns the function of each page that asks the agent of a target, by its pattern. Such a page does not
// update itself, because each update would ask the agent again.
func hostPages() map[string]pageFunc {
	return map[string]pageFunc{
		"/targets/{target}/runs":                 runsPage,
		"/targets/{target}/runs/{run}":           runPage,
		"/targets/{target}/runs/{run}/graph.svg": runGraph,
		"/targets/{target}/commits/{commit}":     runOfCommitPage,
		"/targets/{target}/list.svg":             listGraph,
		"/targets/{target}/drift":                driftPage,
		"/targets/{target}/rollback":             rollbackPage,
	}
}

// still returns the function of a page that does not update itself.
func still(f pageFunc) pageFunc {
	return func(v *visit) (*page, error) {
		p, err := f(v)
		if p != nil {
			p.Still = true
		}
		return p, err
	}
}
