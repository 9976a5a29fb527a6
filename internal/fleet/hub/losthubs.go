package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// What hubs share has a record of each hub of the fleet under memberPrefix. A hub that served
// when a backup was made, and is not in the fleet that was restored from it, has its record
// under lostPrefix instead: it has no vote, keeps nothing and is told to no agent. Its
// signatures are accepted until it is retired.
const (
	memberPrefix = "member/"
	lostPrefix   = "lost/"
)

// alone turns what several hubs shared into what one hub has that begins without the others:
// they are lost. Hubs that keep everything on a NATS cluster need no vote of each other, so
// they stay what they are.
func alone(state document.HubState, nats bool) {
	settings := state.Buckets["settings"]
	if nats || settings == nil {
		return
	}
	for key, value := range settings {
		if name, is := strings.CutPrefix(key, memberPrefix); is && name != state.Hub {
			delete(settings, key)
			settings[lostPrefix+name] = value
		}
	}
}

// keepsOnNats tells whether the hub of a backup kept everything on a NATS cluster.
func (b *Backup) keepsOnNats() (bool, error) {
	var set Settings
	f, ok := b.Files["hub.json"]
	if !ok {
		return false, errors.New("cannot restore hub.json: the backup does not have it")
	}
	err := json.Unmarshal(f.Data, &set)
	return set.Nats != nil, err
}

// retireLost ends that a lost hub is trusted. Whoever leads signs anew what it signed.
func (h *Hub) retireLost(ctx context.Context, name string, l leaving) error {
	l.Lost = true
	_, rev, _ := h.leaving.get(name)
	if err := h.leaving.put(ctx, name, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return err
	}
	if err := h.distrust(ctx, name, l); err != nil {
		return err
	}
	return h.lost.remove(ctx, name)
}
