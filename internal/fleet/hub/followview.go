package hub

import (
	"context"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/view"
)

// retryAfter is the delay after a failure to update the read model.
const retryAfter = 5 * time.Second

// followView updates the read model until ctx ends. After an error of the log or of a store it
// starts again.
func (h *Hub) followView(ctx context.Context) error {
	sources := view.Sources{Log: h.events.Log, Targets: h.records.Buckets["targets"],
		Assignments: h.records.Buckets["assignments"], Open: h.assignments.Open}
	for {
		var err error
		// An empty append returns the end of the log.
		if sources.End, err = h.events.Log.Append(ctx, nil); err == nil {
			h.logEnd.Store(sources.End)
			err = h.view.Follow(ctx, sources)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.warn(fmt.Sprintf("cannot update the read model: %v", err))
		h.targets.ForgetReports()
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}
