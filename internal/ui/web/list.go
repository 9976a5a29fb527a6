package web

// pages returns the function of each page, by its pattern.
func pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":                 fleetPage,
		"/targets/{target}":    targetPage,
		"/commits/{commit}":    commitPage,
		"/modules":             modulesPage,
		"/modules/{module...}": modulePage,
		"/rollouts":            rolloutsPage,
		"/rollouts/{rollout}":  rolloutPage,
		"/inbox":               inboxPage,
		"/jobs":                jobsPage,
		"/jobs/{job}":          jobPage,
		"/events":              eventsPage,
		"/history":             historyPage,
		"/hubs":                hubsPage,
		"/audit":               auditPage,
		"/search":              searchPage,
	}
}
