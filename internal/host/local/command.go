package local

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
)

// Run implements host.Host.
func (h *Host) Run(context.Context, host.Command) (host.CommandResult, error) {
	return host.CommandResult{}, fmt.Errorf("cannot run commands at %s: %w", h.root, host.ErrUnsupported)
}
