package hub

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// errAgain ends a hub that must restart, to be one of several or to end a connection.
var errAgain = errors.New("this hub restarts")

// ErrRetired is wrapped by the error of a hub that has left its fleet.
var ErrRetired = members.ErrRetired

// Run serves until ctx ends, which is not an error. If the hub was retired, the error wraps
// ErrRetired.
func Run(ctx context.Context, c Config) error {
	serves := false
	if ready := c.Ready; ready != nil {
		c.Ready = func(api, bus net.Addr) {
			if !serves {
				ready(api, bus)
			}
			serves = true
		}
	}
	for {
		err := newHub(ctx, c, realDependencies(), (*Hub).serveHTTP).run(ctx)
		switch {
		case errors.Is(err, errAgain):
		case errors.Is(err, view.ErrDamaged) && ctx.Err() == nil:
			if rerr := c.replaceView(ctx, err); rerr != nil {
				return errors.Join(err, rerr)
			}
		case ctx.Err() != nil || !c.restarts(err):
			return err
		default:
			if serves && c.Stopped != nil {
				c.Stopped()
			}
			serves = false
			if !c.awaitRoom(ctx, err) {
				return nil
			}
		}
	}
}

func newHub(ctx context.Context, c Config, e dependencies, serve serveFunc) *Hub {
	return &Hub{serveAPI: serve, core: core{
		conf: c, edge: e, ctx: ctx, mirrorsFilled: make(chan struct{}), handshakeLimiter: bus.NewHandshakeLimiter(),
		restart: restart{requested: make(chan struct{})},
	}}
}

func (h *Hub) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it waited for other hubs
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	h.ctx = ctx
	g.Go(func() error { return h.watchStore(ctx) })
	h.records.Follow(ctx, g)
	g.Go(func() error { return h.targets.Follow(ctx) })
	if err := h.waitForMirrors(ctx); err != nil {
		cancel() // otherwise, the mirrors would not end
		return errors.Join(err, ignoreEnd(ctx, g.Wait()))
	}
	g.Go(func() error { return h.followView(ctx) })
	g.Go(func() error { return h.watchView(ctx) })
	g.Go(func() error { return h.jobs.Gather(ctx) })
	g.Go(func() error { return h.jobs.Remind(ctx) })
	g.Go(func() error { return h.targets.FillGaps(ctx) })
	g.Go(func() error {
		return h.keyring.Follow(ctx, h.records.Buckets["facts"], func(r pki.Revocation) { h.onRevocation(ctx, r) })
	})
	g.Go(func() error { return h.prune(ctx) })
	g.Go(func() error { return h.certificates.Renew(ctx) })
	g.Go(func() error { return h.serveAPI(h, ctx) })
	g.Go(func() error { return h.contents.Fetch(ctx) })
	g.Go(func() error { return h.contents.Histories.Run(ctx) })
	g.Go(func() error { return h.members.FollowPresence(ctx) })
	g.Go(func() error { return h.members.BalanceAgents(ctx) })
	g.Go(func() error { return h.members.Leave(ctx) })
	g.Go(func() error { return h.members.FollowRedundancy(ctx) })
	g.Go(func() error { return h.members.FollowLimits(ctx) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-h.restart.requested:
			return errAgain
		}
	})
	g.Go(func() error { return h.history.Run(ctx) })
	g.Go(func() error { return h.load.Run(ctx) })
	g.Go(func() error { return h.index.Run(ctx) })
	g.Go(func() error { return h.scopes.RunAttempts(ctx) })
	g.Go(func() error { return h.leader.Stand(ctx) })
	return ignoreEnd(ctx, g.Wait())
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
