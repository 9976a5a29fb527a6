package apitest

import (
	"context"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Binaries returns the settings, the latest first.
func (h *Hub) Binaries(context.Context) ([]document.BinarySetting, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.BinarySetting{}, h.binaries...), nil
}

// SetBinary stores a setting.
func (h *Hub) SetBinary(_ context.Context, by access.Principal, r document.BinaryRequest, _ []fleet.TargetID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := document.BinarySetting{ID: "p" + strconv.Itoa(len(h.binaries)+1), At: Now().UnixNano(), By: by.Name,
		Select: r.Select, Binary: r.Binary}
	h.binaries = slices.Insert(h.binaries, 0, p)
	return nil
}
