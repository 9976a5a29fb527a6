package members

import "sync"

// core contains the own hub, its configuration and its list of other hubs. cacheMu is held while the
// file of the peer cache is written.
type core struct {
	Config
	peers       *Cache // the other hubs at the start; nil for a hub that is alone
	cacheMu     sync.Mutex
	dismissed   chan struct{} // closed when this hub is retired
	dismissOnce sync.Once
}

// HubStatus shows the state of the hubs and of the copies of the data.
type HubStatus struct {
	*core
	redundancy redundancy
	limits     limits
}

// Joining accepts new hubs.
type Joining struct{ *core }

// Retirement removes hubs from the fleet.
type Retirement struct {
	*core
	status *HubStatus
}

// HubSet contains the hubs of a fleet. It is safe for concurrent use. The records of hubs change by
// compare-and-set.
type HubSet struct {
	*core
	*HubStatus
	*Joining
	*Retirement
}

// New returns the set of hubs.
func New(config Config) *HubSet {
	c := &core{Config: config, dismissed: make(chan struct{})}
	s := &HubStatus{core: c}
	return &HubSet{core: c, HubStatus: s, Joining: &Joining{c}, Retirement: &Retirement{core: c, status: s}}
}
