package document

import "fettle.dev/fettle/internal/fleet"

// HubPageFormat is the format of HubPage.
const HubPageFormat = "fettle.fleet.hubs/1"

// HubPage has the hubs of a fleet, as one of them sees the other hubs.
type HubPage struct {
	Format     string      `json:"format"`
	AnsweredBy string      `json:"seen_by"` // the hub that answers
	Hubs       []HubMember `json:"hubs"`    // by name
	// Copies is the minimum number of hubs that store each bucket and log. Complete is true if all
	// copies exist and are current.
	Copies   int  `json:"copies"`
	Complete bool `json:"whole"`
	// ToleratedFailures is the number of hubs that can fail before changes become impossible.
	ToleratedFailures int `json:"spare"`
	// Nats means that all data is stored on a NATS cluster of others: Copies is then the number of
	// its servers.
	Nats bool `json:"nats,omitempty"`
	// Lost are hubs that were in the fleet when the backup was made from which it was restored.
	Lost []LostHub `json:"lost,omitempty"`
}

// LostHub is a hub that is no longer in the fleet and was not retired.
type LostHub struct {
	Name      string   `json:"name"`
	HubURLs   []string `json:"hubs"`
	Authority bool     `json:"authority"` // it had the key of the fleet CA
	Joined    int64    `json:"joined"`
}

// HubMember is one hub.
type HubMember struct {
	Name         string   `json:"name"`
	HubURLs      []string `json:"hubs"`  // URLs for users and agents
	BusURLs      []string `json:"buses"` // URLs of its bus
	Reachable    bool     `json:"here"`  // it was reachable recently
	Current      bool     `json:"current"`
	Lag          uint64   `json:"lag"`   // number of changes that it lacks
	StoredCopies int      `json:"keeps"` // number of buckets and logs that it stores
	Leader       bool     `json:"leads"`
	Authority    bool     `json:"authority"` // it has the key of the fleet CA
	Agents       int      `json:"agents"`    // number of agents that are connected to it; 0 if it is not reachable
	Joined       int64    `json:"joined"`
	// Voter means that the hub has a vote in the store of the hubs; null if it is unknown, or with a NATS cluster.
	Voter *bool `json:"voter,omitempty"`
	// Domain is the failure domain of the hub; "" if it is unknown.
	Domain string `json:"failure_domain,omitempty"`
	// Load is the work of the hub; null if it is unknown.
	Load *fleet.HubLoad `json:"load,omitempty"`
	// Reason explains why the hub is in the fleet.
	Reason string `json:"reason"`
}

// Duties returns the duties of the hub, for users.
func (h HubMember) Duties() (all []string) {
	if h.Leader {
		all = append(all, "leader")
	}
	if h.Voter != nil && *h.Voter {
		all = append(all, "vote")
	}
	if h.Authority {
		all = append(all, "CA key")
	}
	return all
}
