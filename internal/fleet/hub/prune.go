package hub

import (
	"context"
	"errors"
	"time"
)

// prune removes outdated data every hour until ctx ends. Content is removed in the longer interval
// of Retention.Content.
func (h *Hub) prune(ctx context.Context) error {
	swept := h.now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour):
		}
		if err := h.view.Prune(ctx, h.now()); err != nil && ctx.Err() == nil {
			h.warn("cannot prune the read model: " + err.Error())
		}
		if err := h.jobs.Prune(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove old jobs: " + err.Error())
		}
		err := errors.Join(h.certificates.PruneIssued(ctx), h.certificates.PruneLists(ctx))
		if err != nil && ctx.Err() == nil {
			h.warn("cannot remove expired certificates: " + err.Error())
		}
		if err := h.users.PruneTokens(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove old tokens: " + err.Error())
		}
		if err := h.leader.PruneShared(ctx); err != nil && ctx.Err() == nil {
			h.warn("cannot remove unused shared modules: " + err.Error())
		}
		if h.now().Sub(swept) >= h.set.Retention.content() {
			swept = h.now()
			if err := h.contents.Sweep(ctx, h.leader.ContentDigests); err != nil && ctx.Err() == nil {
				h.warn(err.Error())
			}
		}
	}
}
