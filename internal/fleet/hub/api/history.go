package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// History is the history of numbers of a hub.
type History interface {
	History(ctx context.Context, q route.HistoryQuery) (document.History, error)
}

// HandleHistory registers the handler of the history.
func HandleHistory(t *Table, b History) {
	Handle(t, route.History(),
		func(ctx context.Context, _ Caller, q route.HistoryQuery, _ route.None) (document.History, error) {
			return b.History(ctx, q)
		})
}
