package records

import "slices"

// Epoch is the current epoch of a fleet. The epoch only increases.
type Epoch struct {
	Number uint64 `json:"epoch"`
	Begun  int64  `json:"begun"` // seconds since 1970
	Why    string `json:"why"`
	// Restored is the time at which the store was last replaced by an older copy, in seconds since 1970; 0: never.
	Restored int64 `json:"restored,omitempty"`
	// Listed means that Earlier has all epochs of this store between Unlisted and Number. Earlier versions of fettle did
	// not list them. Unlisted is 0 in a store that was empty.
	Listed   bool     `json:"listed,omitempty"`
	Earlier  []uint64 `json:"earlier,omitempty"` // ascending
	Unlisted uint64   `json:"unlisted,omitempty"`
}

// maxEpochs limits the list of earlier epochs.
const maxEpochs = 100

// Next returns the epoch after e with the list of earlier epochs. next has the other fields.
func (e Epoch) Next(next Epoch) Epoch {
	next.Listed, next.Earlier, next.Unlisted = true, nil, e.Number
	if e.Listed {
		next.Earlier, next.Unlisted = append(slices.Clone(e.Earlier), e.Number), e.Unlisted
	}
	if n := len(next.Earlier) - maxEpochs; n > 0 {
		next.Unlisted, next.Earlier = next.Earlier[n-1], next.Earlier[n:]
	}
	return next
}

// MayHaveBegun reports whether an epoch can have begun in this store. It is correct for an outdated copy of e too.
func (e Epoch) MayHaveBegun(number uint64) bool {
	return !e.Listed || number <= e.Unlisted || number >= e.Number || slices.Contains(e.Earlier, number)
}

// The settings contain a record of each hub of the fleet under MemberPrefix. After a restore
// from a backup, the hubs that are missing in the restored fleet have their records under
// LostPrefix. A lost hub has no vote and stores nothing, and agents do not get its address. Its
// signatures are accepted until it is retired.
const (
	MemberPrefix = "member/"
	LostPrefix   = "lost/"
)

// Member is the record of one hub in the shared settings.
type Member struct {
	Name    string   `json:"name"`
	HubURLs []string `json:"hubs"`              // URLs for users and agents
	BusURLs []string `json:"buses"`             // URLs of its bus
	Cluster []string `json:"cluster,omitempty"` // HOST:PORT for other hubs
	Key     string   `json:"key,omitempty"`     // digest of the key of a hub that joined
	Domain  string   `json:"domain,omitempty"`  // failure domain; "" means unknown
	Joined  int64    `json:"joined"`            // seconds since 1970
	By      string   `json:"by,omitempty"`
	// Authority means that the hub has the key of the fleet CA, and can certify new hubs.
	Authority bool `json:"authority,omitempty"`
}

// Leaving is a retired hub that the fleet still trusts. Its key is the name of the hub.
type Leaving struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // seconds since 1970
	// Lost means that the hub will not return, so other hubs do not wait for its data.
	Lost bool `json:"lost,omitempty"`
}

// EpochKey is the key of the only epoch of a fleet.
const EpochKey = "epoch"
