package hub

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/view"
)

// errAgain is of a hub that has to begin anew, as one of several.
var errAgain = errors.New("this hub begins anew")

// Run serves until ctx ends, which is no error. ErrRetired is in the chain of the error of
// a hub that was taken out of its fleet.
func Run(ctx context.Context, c Config) error {
	if ready := c.Ready; ready != nil {
		var once sync.Once
		c.Ready = func(api, bus net.Addr) { once.Do(func() { ready(api, bus) }) }
	}
	for {
		err := newHub(ctx, c, realDependencies()).run(ctx)
		switch {
		case errors.Is(err, errAgain):
		case errors.Is(err, view.ErrDamaged) && ctx.Err() == nil:
			if rerr := c.replaceView(ctx, err); rerr != nil {
				return errors.Join(err, rerr)
			}
		case ctx.Err() != nil || !c.restarts(err):
			return err
		case !c.awaitRoom(ctx, err):
			return nil
		}
	}
}

func newHub(ctx context.Context, c Config, e dependencies) *Hub {
	return &Hub{
		conf: c, edge: e, ctx: ctx, mirrorsFilled: make(chan struct{}), handshakeLimiter: bus.NewHandshakeLimiter(),
		again: make(chan struct{}), dismissed: make(chan struct{}), wanting: make(chan struct{}, 1),
	}
}

func (h *Hub) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.open(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it waited for others when it was to end
		}
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	h.ctx = ctx
	g.Go(func() error { return h.watchStore(ctx) })
	// Who is believed comes before what they signed.
	g.Go(func() error { return h.signers.follow(ctx) })
	select {
	case <-ctx.Done():
	case <-h.signers.filled():
	}
	for _, m := range h.mirrored()[1:] {
		g.Go(func() error { return m.follow(ctx) })
	}
	if err := h.waitForMirrors(ctx); err != nil {
		cancel() // what follows the stores does not end by itself
		return errors.Join(err, ignoreEnd(ctx, g.Wait()))
	}
	g.Go(func() error { return h.followView(ctx) })
	g.Go(func() error { return h.watchView(ctx) })
	g.Go(func() error { return h.jobDispatcher.gather(ctx) })
	g.Go(func() error { return h.jobDispatcher.remind(ctx) })
	g.Go(func() error { return h.fillIn(ctx) })
	g.Go(func() error { return h.followFacts(ctx) })
	g.Go(func() error { return h.prune(ctx) })
	g.Go(func() error { return h.renewHubCertificates(ctx) })
	g.Go(func() error { return h.edge.serve(h, ctx) })
	g.Go(func() error { return h.fetchContent(ctx) })
	g.Go(func() error { return h.histories.Run(ctx) })
	g.Go(func() error { return h.followPresence(ctx) })
	g.Go(func() error { return h.leave(ctx) })
	g.Go(func() error { return h.followRedundancy(ctx) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-h.again:
			return errAgain
		}
	})
	g.Go(func() error {
		return h.standForLeader(ctx)
	})
	return ignoreEnd(ctx, g.Wait())
}

// standForLeader leads whenever this hub can, until ctx ends or it is retired. One that gave up
// leading lets others lead for a while.
func (h *Hub) standForLeader(ctx context.Context) error {
	may, stop := h.unlessDismissed(ctx)
	defer stop()
	for {
		err := bus.Lead(may, h.stores["leases"], bus.LeaseConfig{Key: "leader", Holder: h.set.Name}, h.leadOn)
		switch {
		case ctx.Err() != nil:
			return err
		case may.Err() != nil:
			return nil // it was retired, and others lead
		case err != nil:
			return err
		}
		select {
		case <-may.Done():
		case <-time.After(standAsideFor):
		}
	}
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
