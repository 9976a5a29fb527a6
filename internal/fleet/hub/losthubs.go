package hub

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
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
		if name, is := strings.CutPrefix(key, records.MemberPrefix); is && name != state.Hub {
			delete(settings, key)
			settings[records.LostPrefix+name] = value
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
func (h *Hub) retireLost(ctx context.Context, name string, l records.Leaving) error {
	l.Lost = true
	_, rev, _ := h.records.Leaving.Get(name)
	if err := h.records.Leaving.Put(ctx, name, l, rev); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return err
	}
	if err := h.distrust(ctx, name, l); err != nil {
		return err
	}
	return h.records.Lost.Remove(ctx, name)
}
