package hub

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
)

// Because is why a target has a module, as it was decided last.
func (h *Hub) Because(_ context.Context, id fleet.TargetID, module string) ([]string, error) {
	h.mu.Lock()
	leads, out := h.leader != nil, h.out
	h.mu.Unlock()
	if !leads {
		return []string{"another hub decides now: ask that one why"}, nil
	}
	return out.Why(id, module), nil
}
