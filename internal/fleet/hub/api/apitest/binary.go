package apitest

import (
	"context"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// SetBinary stores nothing.
func (h *Hub) SetBinary(context.Context, access.Principal, document.BinaryRequest, []fleet.TargetID) error {
	return nil
}
