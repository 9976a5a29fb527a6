package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// The settings contain a record of each hub of the fleet under memberPrefix. After a restore
// from a backup, the hubs that are missing in the restored fleet have their records under
// lostPrefix. A lost hub has no vote and stores nothing, and agents do not get its address. Its
// signatures are accepted until it is retired.
const (
	memberPrefix = "member/"
	lostPrefix   = "lost/"
)

// alone changes the state of several hubs for one hub that starts without the other hubs: they are
// lost. Hubs on an external NATS cluster do not need votes of each other, so they remain
// members.
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

// keepsOnNats reports whether the hub of a backup stored its data in an external NATS cluster.
func (b *Backup) keepsOnNats() (bool, error) {
	var set Settings
	f, ok := b.Files["hub.json"]
	if !ok {
		return false, errors.New("cannot restore hub.json: the backup does not contain it")
	}
	err := json.Unmarshal(f.Data, &set)
	return set.Nats != nil, err
}

// retireLost ends the trust in a lost hub. The leader signs again everything that the lost hub
// signed.
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
