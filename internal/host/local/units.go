package local

import (
	"fmt"

	"fettle.dev/fettle/internal/host"
)

// Units implements host.Host.
func (h *Host) Units() (host.Units, error) {
	return nil, fmt.Errorf("cannot use units at %s: this build has no unit driver: %w", h.root, host.ErrUnsupported)
}
