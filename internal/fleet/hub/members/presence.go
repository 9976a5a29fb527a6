package members

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// presentEvery is the time between two messages in which hubs exchange their connected agents.
const presentEvery = 5 * time.Second

// FollowPresence records the agents of other hubs in the read model until ctx ends.
func (h *HubSet) FollowPresence(ctx context.Context) error {
	if h.peers == nil {
		return nil
	}
	return h.joint().Exchange().FollowPresence(ctx, presentEvery, func(id fleet.TargetID, here bool) {
		if here {
			h.View().RecordContact(id, h.Now())
		}
		h.View().RecordConnection(id, here || h.Exchange().IsConnected(id))
	})
}
