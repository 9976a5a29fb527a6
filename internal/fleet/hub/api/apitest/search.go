package apitest

import (
	"context"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// Search finds one state. It refuses the text "refused".
type Search struct{}

// Search implements api.Search.
func (Search) Search(_ context.Context, q route.SearchQuery, _ time.Time) (document.Search, error) {
	if q.Text == "refused" {
		return document.Search{}, &api.Refusal{Status: api.BadRequest, Why: "cannot search", Hint: "Give another text"}
	}
	file := document.FoundState{Kind: "file", Names: []string{"/etc/nginx/nginx.conf"}, Module: "modules/web",
		File: "modules/web/module.hcl", Line: 3, Commits: []string{strings.Repeat("b", 40)}, Targets: 2,
		First: []string{"web1", "web2"}}
	run := document.Event{Cursor: "1.0", At: 1e18, Name: "web1", Kind: "applied", Run: 4, Duration: 3e9}
	return document.Search{Format: document.SearchFormat, Text: q.Text, Targets: []document.Target{},
		Modules: []document.Module{}, States: []document.FoundState{file}, Commits: []document.RevisionCount{},
		Rollouts: []document.Rollout{}, Runs: []document.Event{run}, More: map[string]int{"runs": 2}}, nil
}
