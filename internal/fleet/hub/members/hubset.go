// Package members contains the hubs of a fleet: their records, how they join and leave, the copies
// of the data on them, and their addresses for agents.
//
//	h := members.New(members.Config{Hub: "hub1", Fleet: "acme", Records: table, …})
//	err := h.Open()           // before the bus starts
//	err = h.Register(ctx)     // when the mirrors are filled
//	page, err := h.Hubs(ctx)
package members

import (
	"context"
	"path"
	"sync"
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
	Restart    func() // stops this hub and starts it again
}

// HubSet contains the hubs of a fleet. It is safe for concurrent use. The records of hubs change by
// compare-and-set. cacheMu is held while the file of the peer cache is written.
type HubSet struct {
	Config
	peers       *Cache // the other hubs at the start; nil for a hub that is alone
	cacheMu     sync.Mutex
	dismissed   chan struct{} // closed when this hub is retired
	dismissOnce sync.Once
	redundancy  redundancy
}

// New returns the set of hubs.
func New(c Config) *HubSet { return &HubSet{Config: c, dismissed: make(chan struct{})} }

// Open reads the file with the other hubs. The error wraps ErrRetired for a retired hub.
func (h *HubSet) Open() (err error) {
	h.peers, err = readCache(h.Files, h.Dir)
	if err == nil && h.ExternalNats && h.peers == nil {
		h.peers = &Cache{} // other hubs may join at any time
	}
	return err
}

// Alone reports whether this hub started without other hubs.
func (h *HubSet) Alone() bool { return h.peers == nil }

// Dismissed is closed when this hub is retired.
func (h *HubSet) Dismissed() <-chan struct{} { return h.dismissed }

// Redundancy returns the missing copies of the data, or "", and how many more hubs may fail.
func (h *HubSet) Redundancy() (lost string, spare int) { return h.redundancy.now(h.Now()) }

func (h *HubSet) dir(name string) string { return path.Join(h.Dir, name) }

// Log logs a message. A retired hub logs only that it is retired: the other hubs disconnect it, and
// many messages result from that.
func (h *HubSet) Log(text string) {
	select {
	case <-h.dismissed:
	default:
		h.Warn(text)
	}
}
