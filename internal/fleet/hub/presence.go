package hub

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// presentEvery is how often hubs tell each other who is connected to them.
const presentEvery = 5 * time.Second

// followPresence has the read model know who is connected to other hubs.
func (h *Hub) followPresence(ctx context.Context) error {
	if h.peers == nil {
		return nil
	}
	return h.joint().Exchange().FollowPresence(ctx, presentEvery, func(id fleet.TargetID, here bool) {
		if here {
			h.view.Heard(id, h.now())
		}
		h.view.Connected(id, here || h.exchange.Here(id))
	})
}
