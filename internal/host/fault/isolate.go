package fault

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
)

// Isolate implements host.Isolator if the host does. The writes of programs in the view are
// discarded, so they are not counted.
func (h *Host) Isolate(network bool) (host.Isolated, error) {
	i, ok := h.Host.(host.Isolator)
	if !ok {
		return nil, fmt.Errorf("this host isolates no programs: %w", host.ErrUnsupported)
	}
	view, err := read(h, func() (host.Isolated, error) { return i.Isolate(network) })
	if err != nil {
		return nil, err
	}
	return isolated{h, view}, nil
}

type isolated struct {
	h *Host
	host.Isolated
}

func (i isolated) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	return read(i.h, func() (host.CommandResult, error) { return i.Isolated.Run(ctx, c) })
}
