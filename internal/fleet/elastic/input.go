package elastic

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Hub is a hub, as the leader observes it.
type Hub struct {
	Name   string
	Domain string // failure domain
	Voter  bool
	// Fixed means that the hub is never retired: an operator joined it, or it has the key of the fleet CA.
	Fixed bool
	Ready bool // it has all data, and serves agents
	// Silence is the time since its last heartbeat; negative means that there was none. It must be measured with a
	// monotonic clock: if the time of day is set back, an old heartbeat must not look new.
	Silence time.Duration
	Load    *fleet.HubLoad // nil means unknown
}

// Node is a host that can become a hub: the policy and the host allow it.
type Node struct {
	Name    string
	Domain  string // failure domain
	Rank    int    // nodes with a smaller rank are nominated first
	Present bool   // it is connected
}

// Input is an observation. Decide does not modify it.
type Input struct {
	Leader string // the hub that observes
	Hubs   []Hub  // with different names
	Nodes  []Node // with different names; a node may already be a hub
	Policy Policy // must pass Check
}
