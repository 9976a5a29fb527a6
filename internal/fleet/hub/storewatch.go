package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
)

const (
	// leastRoom is how much of the disk has to be free for a hub to begin again, in bytes.
	leastRoom = 16 << 20
	// roomEvery is how often is looked for it, and sayRoom how often is said that it is missing.
	roomEvery, sayRoom = time.Second, time.Minute
	// dismissWithin is how long a hub may take to know that it was retired: its store ends
	// then as well.
	dismissWithin = 2 * time.Second
)

// watchStore ends a hub whose store has stopped by itself: what it does not keep, the
// others count on.
func (h *Hub) watchStore(ctx context.Context) error {
	s, ok := h.bus.(interface{ Stopped(context.Context) error })
	if !ok {
		return nil
	}
	err := s.Stopped(ctx)
	if err == nil {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-h.dismissed:
	case <-time.After(dismissWithin):
		return err
	}
	return nil
}

// restarts tells whether a hub that ended with an error begins again in this process: its
// store has stopped, or there is no room for what it has to write.
func (c Config) restarts(err error) bool {
	return errors.Is(err, bus.ErrStopped) || err != nil && !errors.Is(err, ErrRetired) && c.isFull()
}

func (c Config) isFull() bool {
	if c.Free == nil {
		return false
	}
	free, all, err := c.Free(c.Dir)
	return err == nil && all > 0 && free < leastRoom
}

// awaitRoom waits until there is room to write, and tells whether it is there before ctx
// ends. It waits once in any case: what failed at once would else be tried without end.
func (c Config) awaitRoom(ctx context.Context, why error) bool {
	var said time.Time
	for {
		if now := time.Now(); now.Sub(said) >= sayRoom {
			said = now
			c.warn(c.stopsServing(why))
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(roomEvery):
		}
		if !c.isFull() {
			return true
		}
	}
}

func (c Config) stopsServing(why error) string {
	if !c.isFull() {
		return fmt.Sprintf("this hub stops serving: %v. It starts again at once, and agents use other hubs until then", why)
	}
	return fmt.Sprintf("this hub stops serving: %v. It starts again when %d MiB are free in %s; until then it stores nothing, and agents use other hubs", why, leastRoom>>20, c.Dir)
}
