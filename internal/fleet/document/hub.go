package document

// HubPageFormat is the format of HubPage.
const HubPageFormat = "fettle.fleet.hubs/1"

// HubPage is the hubs of a fleet, as one of them sees the others.
type HubPage struct {
	Format string      `json:"format"`
	Seen   string      `json:"seen_by"` // the hub that answers
	Hubs   []HubMember `json:"hubs"`    // by name
	// Copies is on how many hubs each thing is kept, at least; Whole tells that all copies
	// are there and the same.
	Copies   int  `json:"copies"`
	Complete bool `json:"whole"`
	// Spare is how many hubs may be gone before nothing can be changed any more.
	Spare int `json:"spare"`
	// Nats tells that everything is kept on a NATS cluster of others: Copies is then on how
	// many of its servers.
	Nats bool `json:"nats,omitempty"`
	// Lost are hubs that were in the fleet when the backup was made from which it was restored.
	Lost []LostHub `json:"lost,omitempty"`
}

// LostHub is a hub that is not in the fleet any more and was not retired.
type LostHub struct {
	Name      string   `json:"name"`
	Hubs      []string `json:"hubs"`
	Authority bool     `json:"authority"` // it had the authority's key
	Joined    int64    `json:"joined"`
}

// HubMember is one hub.
type HubMember struct {
	Name      string   `json:"name"`
	Hubs      []string `json:"hubs"`  // URLs at which people and agents reach it
	Buses     []string `json:"buses"` // URLs of its bus
	Here      bool     `json:"here"`  // it was heard of just now
	Current   bool     `json:"current"`
	Lag       uint64   `json:"lag"`   // changes that it has not got yet
	Keeps     int      `json:"keeps"` // of how many buckets and logs it has a copy
	Leads     bool     `json:"leads"`
	Authority bool     `json:"authority"` // it has the authority's key
	Joined    int64    `json:"joined"`
}
