package backup

import (
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
