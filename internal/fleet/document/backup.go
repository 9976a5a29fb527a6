package document

// Formats of what is told of the hub itself.
const (
	HubStateFormat = "fettle.hubstate/1"
	HubCheckFormat = "fettle.fleet.check/1"
)

// HubState is what hubs share, as far as nothing else knows it. It holds digests of tokens,
// and no token.
type HubState struct {
	Format string `json:"format"`
	Fleet  string `json:"fleet"`
	Hub    string `json:"hub"`
	At     int64  `json:"at"`
	// Buckets are all entries, by bucket and key.
	Buckets map[string]map[string]string `json:"buckets"`
}

// BackupSaved tells that a backup is stored: At is that of its HubState.
type BackupSaved struct {
	At int64 `json:"at"`
}

// HubCheck is how a hub is, looked at closely.
type HubCheck struct {
	Format string       `json:"format"`
	Hub    string       `json:"hub"`
	Well   bool         `json:"well"`
	Checks []HubFinding `json:"checks"`
}

// HubFinding is one thing that was looked at.
type HubFinding struct {
	Name string `json:"name"`
	Well bool   `json:"well"`
	Text string `json:"text"`           // how it is
	Hint string `json:"hint,omitempty"` // what to do, where it is not well
}
