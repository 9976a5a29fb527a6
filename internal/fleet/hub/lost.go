package hub

import (
	"encoding/json"
	"errors"
	"strings"

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
