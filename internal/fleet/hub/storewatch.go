package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/members"
)

const (
	// leastRoom is the free disk space in bytes that a hub needs to start again.
	leastRoom = 16 << 20
	// roomEvery is the time between two checks of the disk, and sayRoom between two warnings.
	roomEvery, sayRoom = time.Second, time.Minute
	// dismissWithin is the time in which a hub learns that it was retired: its store stops then as
	// well.
	dismissWithin = 2 * time.Second
)

// watchStore ends a hub whose store has stopped by itself: other hubs count on its copy.
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
	case <-h.members.Dismissed():
	case <-time.After(dismissWithin):
		return err
	}
	return nil
}

// restarts reports whether a hub restarts in this process after an error: its store has stopped, or
// its disk is full.
func (c Config) restarts(err error) bool {
	return errors.Is(err, bus.ErrStopped) || err != nil && !errors.Is(err, members.ErrRetired) && c.isFull()
}

func (c Config) isFull() bool {
	if c.Free == nil {
		return false
	}
	free, all, err := c.Free(c.Dir)
	return err == nil && all > 0 && free < leastRoom
}

// awaitRoom waits until the disk has free space. It returns false if ctx ends before. It always
// waits once, so that a hub that fails at once does not restart without a pause.
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
	return fmt.Sprintf("this hub stops serving: %v. It starts again when %d MiB are free in %s; "+
		"until then it stores nothing, and agents use other hubs", why, leastRoom>>20, c.Dir)
}
