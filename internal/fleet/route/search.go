package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// SearchQuery is the text of a search.
type SearchQuery struct {
	Text  string `query:"q" does:"the text: a part of a name, KIND:NAME, the begin of a commit, or the number of a run"`
	Limit int    `query:"limit" does:"the maximum number of results of each list, at most 500; without it, 50"`
}

func ofSearch() []Row { return []Row{Search().Row} }

// Search finds targets, modules, states of modules, commits, rollouts and runs.
func Search() (r Route[SearchQuery, None, document.Search]) {
	return r.get(access.Read, "/v1/search",
		"Search for targets, modules, files, packages, commits, rollouts and runs").perTarget()
}
