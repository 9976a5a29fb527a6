package hub

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// Because returns the reasons of the last decision that gave a module to a target. Only the leader
// has them.
func (h *Hub) Because(_ context.Context, id fleet.TargetID, module string) ([]string, error) {
	h.mu.Lock()
	leads, out := h.leader != nil, h.out
	h.mu.Unlock()
	if !leads {
		return []string{"only the leading hub has the reasons, and another hub leads now. Ask the other hubs"}, nil
	}
	return out.Why(id, module), nil
}
