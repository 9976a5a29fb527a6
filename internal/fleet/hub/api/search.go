package api

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Search searches the fleet.
type Search interface {
	Search(ctx context.Context, q route.SearchQuery, now time.Time) (document.Search, error)
}

// HandleSearch registers the handler of searches.
func HandleSearch(t *Table, b Search) {
	Handle(t, route.Search(),
		func(ctx context.Context, c Caller, q route.SearchQuery, _ route.None) (document.Search, error) {
			return b.Search(ctx, q, c.Now)
		})
}
