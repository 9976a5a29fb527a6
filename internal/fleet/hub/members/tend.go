package members

import (
	"context"
	"errors"
	"slices"
	"time"
)

// tendEvery is the time between two checks of the copies of the store.
const tendEvery = 2 * time.Second

// Tend keeps copies of the store on the present hubs as long as this hub leads. A retired hub is
// removed when it has no agents and no copies left.
func (h *Retirement) Tend(ctx context.Context, fence uint64) error {
	said, emptying := "", emptying{}
	for {
		once, stop := context.WithTimeout(ctx, 30*time.Second)
		names := append(staying(once, h.core), emptying.names(h.leavingHubs(), h.agentsByHub(), h.Now())...)
		done, err := h.peers == nil || h.ExternalNats, error(nil) // no copies on other hubs
		if !done {
			done, err = h.joint().AdjustCopies(once, names)
		}
		err = errors.Join(err, h.withdraw(once, fence, names, done))
		stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			h.Log(said)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tendEvery):
		}
	}
}

// staying returns the hubs that keep their vote: each listed hub, and each voter that was not
// retired. A new hub may have a vote before this hub reads its record. The store would accept a
// removed hub again only after five minutes.
func staying(ctx context.Context, h *core) (names []string) {
	for _, m := range h.Records.Members.Values() {
		names = append(names, m.Name)
	}
	if h.peers == nil || h.ExternalNats {
		return names
	}
	peers, _ := h.joint().Peers(ctx)
	for _, p := range peers {
		if _, _, leaves := h.Records.Leaving.Get(p.Name); !leaves && !h.isDistrusted(p.Name) &&
			!slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}
