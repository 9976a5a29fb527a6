package hub

import (
	"context"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/hub/search"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// newIndex returns the index of declared states.
func newIndex(c *core) *search.Index {
	return search.NewIndex(search.IndexConfig{Store: c.content, Now: c.now,
		Parts: func(ctx context.Context, most int) ([]view.PartInUse, error) {
			return view.PartsInUse(ctx, c.view, most)
		},
		States: func(tree repo.Tree) ([]query.DeclaredState, diag.List) {
			if r, ok := c.conf.Compile.(StateReader); ok {
				return r.States(tree)
			}
			return nil, nil
		}})
}

// searchService returns the service that searches the fleet.
func searchService(c *core, x *search.Index, r rollouts.Service) search.Service {
	return search.Service{Views: c.view, Rollouts: r, Index: x,
		Runs: func(ctx context.Context, q view.RunQuery) ([]document.Event, int, error) {
			return view.Runs(ctx, c.view, q)
		}}
}
