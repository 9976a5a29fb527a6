package sealed

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
)

var _ host.Isolator = (*Host)(nil)

// Isolate implements host.Isolator where the host does.
func (h *Host) Isolate(network bool) (host.Isolated, error) {
	i, ok := h.Host.(host.Isolator)
	if !ok {
		return nil, fmt.Errorf("this host isolates no programs: %w", host.ErrUnsupported)
	}
	view, err := i.Isolate(network)
	if err != nil {
		return nil, err
	}
	return isolated{h, view}, nil
}

// isolated passes programs the secrets that they need, and removes the secrets from their output.
type isolated struct {
	h *Host
	host.Isolated
}

func (i isolated) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	return i.h.run(ctx, c, i.Isolated.Run)
}
