package local

import (
	"fmt"

	"fettle.dev/fettle/internal/host"
)

// Packages implements host.Host.
func (h *Host) Packages() (host.Packages, error) {
	return nil, fmt.Errorf("cannot use packages at %s: this build has no package driver: %w", h.root, host.ErrUnsupported)
}
