// Package members contains the hubs of a fleet: their records, how they join and leave, the copies
// of the data on them, and their addresses for agents.
//
//	h := members.New(members.Config{Hub: "hub1", Fleet: "acme", Records: table, …})
//	err := h.Open()           // before the bus starts
//	err = h.Register(ctx)     // when the mirrors are filled
//	page, err := h.Hubs(ctx)
//
// A hub without a record was retired, unless the store lists no hub: then the store is new or was lost.
// While most hubs are down, nothing can be changed. Joining and retiring may be repeated, also after an
// interruption: the leader completes the retirement of a hub.
package members

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host"
)

// Identity describes the own hub.
type Identity struct {
	Hub, Fleet       string   // names
	HubURLs, BusURLs []string // for users and agents
	Domain           string   // failure domain; "" means unknown
	Listen           string   // HOST:PORT for other hubs
	ExternalNats     bool     // an external NATS cluster stores the data
	Files            host.FS
	Dir              string // the directory of the hub
	HookFile         string // the secret of webhooks
	Keys             *pki.Hub
	Revoked          *pki.Revocations
}

// Config contains what a HubSet needs of its hub. The functions that return parts of the hub are
// called only after these parts exist.
type Config struct {
	Identity
	Now     func() time.Time
	Warn    func(text string)      // also of a retired hub
	Context func() context.Context // ends with the hub
	// Filled is closed when all mirrors are filled.
	Filled  <-chan struct{}
	Records *records.Table
	Events  func() events.Recorder
	View    func() *view.View
	// Bus returns the bus, which is a *bus.Server if the hub is not alone.
	Bus       func() any
	Exchange  func() fleet.Exchange
	Registrar func() *pki.Registrar
	// Sign signs and writes assignments again, as the leader with the number fence.
	Sign func(ctx context.Context, fence uint64, all []fleet.Assignment) error
	// Nats returns the settings of the external NATS cluster for a hub that joins.
	Nats       func() (*pki.WelcomeNats, error)
	ForgetKeys func() // empties the cache of keys of hubs
	// Load returns the load of this hub; known is false if it is unknown.
	Load    func() (l fleet.HubLoad, known bool)
	Restart func() // stops this hub and starts it again
}
