package members

import (
	"context"

	"fettle.dev/fettle/internal/fleet/bus"
)

// joint is the bus of a hub that is not alone. *bus.Server implements it.
type joint interface {
	copies
	voters
	links
}

// copies are the copies of the store on hubs.
type copies interface {
	Copies(ctx context.Context) ([]bus.CopySet, error)
	AdjustCopies(ctx context.Context, names []string) (done bool, err error)
	IsRemoved() bool
}

// voters are the hubs with a vote in the store.
type voters interface {
	Peers(ctx context.Context) (all []bus.Peer, leader string)
	Voters() int
}

// links are the connections with other hubs.
type links interface {
	IsConnected(name string) bool
	Unresponsive(ctx context.Context, names []string) []string
	Exchange() *bus.Exchange
}

var _ joint = (*bus.Server)(nil)

// joint returns the bus of a hub that is not alone. For other hubs it panics.
func (h *core) joint() joint { return h.Bus().(joint) }
