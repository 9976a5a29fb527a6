package hub

import (
	"context"
	"net"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
)

// edge is where a hub meets what is not its own: the bus, git and the network. A
// simulation puts others in the place of these three and runs all the rest as it is.
type dependencies struct {
	bus     func(ctx context.Context, c bus.Config) (shared, error)
	sources func(s *content.Sources) sources
	serve   func(h *Hub, ctx context.Context) error
	// history reads a history for content.Histories; nil reads it with git.
	history func(ctx context.Context, dir string, src content.Source, commit string, accepted []string) ([]byte, error)
}

// realDependencies is the edge of every hub that is not simulated.
func realDependencies() dependencies {
	return dependencies{
		bus: func(ctx context.Context, c bus.Config) (shared, error) {
			s, err := bus.Start(ctx, c)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		sources: func(s *content.Sources) sources { return s },
		serve:   (*Hub).serveHTTP,
	}
}

// shared is what a hub has in common with others and with agents: *bus.Server.
type shared interface {
	Store(ctx context.Context, name string) (fleet.Store, error)
	Log(ctx context.Context, c bus.LogConfig) (fleet.Log, error)
	Exchange() *bus.Exchange
	Address() net.Addr
	Healthy() error
	Close()
}

// sources follows repositories: *content.Sources.
type sources interface {
	Run(ctx context.Context)
	Set(list []content.Source) error
	Poke(name string)
	Pack(ctx context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error)
}
