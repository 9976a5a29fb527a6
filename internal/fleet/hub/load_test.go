package hub_test

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// loads waits until each hub shows the load, the vote and the failure domain of each hub. One agent is connected.
func (w *several) loads(t *testing.T) {
	t.Helper()
	for _, o := range w.hubs {
		until(t, o.name+" shows the load of all hubs", func() (document.HubPage, bool) {
			var p document.HubPage
			if err := o.ask("GET", "/v1/hubs", nil, &p); err != nil {
				return p, false
			}
			agents := 0
			for _, h := range p.Hubs {
				if h.Load == nil || h.Load.CPU < 0 || h.Load.EventLag < 0 || h.Voter == nil || !*h.Voter ||
					h.Domain != "of-"+h.Name || h.Reason == "" {
					return p, false
				}
				agents += h.Load.Connections
			}
			return p, len(p.Hubs) == len(w.hubs) && agents == 1
		})
	}
}
