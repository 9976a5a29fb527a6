package mem

import (
	"context"

	"fettle.dev/fettle/internal/host"
)

var _ host.Isolator = (*Host)(nil)

// Isolate implements host.Isolator. The programs of a view are the programs of the host. Their
// writes are not discarded: they are functions of a test.
func (h *Host) Isolate(bool) (host.Isolated, error) {
	if h.opts.CannotIsolate != nil {
		return nil, h.opts.CannotIsolate
	}
	return isolated{h}, nil
}

type isolated struct{ h *Host }

func (i isolated) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	return i.h.Run(ctx, c)
}

func (i isolated) Close() error { return nil }
