package web

import "fettle.dev/fettle/internal/fleet/document"

// hostPages returns the function of each page that asks the agent of a target, by its pattern. Such a page does not
// update itself, because each update would ask the agent again.
func hostPages() map[string]pageFunc {
	return map[string]pageFunc{
		"/targets/{target}/runs": runsPage,
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

// hostTabs are the links between the pages of a target.
type hostTabs struct{ Name, Here string }

// unansweredData explains why a page has no data of the host.
type unansweredData struct {
	Now     any
	Problem *document.Problem
	Target  document.Target
}
