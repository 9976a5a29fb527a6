package web

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
