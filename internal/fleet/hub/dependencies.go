package hub

import (
	"context"
	"net"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/repository"
)

// dependencies are the external parts of a hub: the bus and git. A simulation replaces these and
// serveFunc, and runs the rest unchanged.
type dependencies struct {
	bus     func(ctx context.Context, c bus.Config) (shared, error)
	sources func(s *content.Sources) repository.Sources
	// history reads a history for content.Histories; nil means: with git.
	history func(ctx context.Context, dir string, src content.Source, commit string, accepted []string) ([]byte, error)
}

// realDependencies returns the dependencies of a hub outside of simulations.
func realDependencies() dependencies {
	return dependencies{
		bus: func(ctx context.Context, c bus.Config) (shared, error) {
			s, err := bus.Start(ctx, c)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		sources: func(s *content.Sources) repository.Sources { return s },
	}
}

// shared is the bus of a hub: stores, log and agent connections. *bus.Server implements it.
type shared interface {
	Store(ctx context.Context, name string) (fleet.Store, error)
	Log(ctx context.Context, c bus.LogConfig) (fleet.Log, error)
	Exchange() *bus.Exchange
	Address() net.Addr
	Healthy() error
	Close()
}
