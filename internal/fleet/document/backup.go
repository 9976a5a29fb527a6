package document

// Formats of documents about the hub itself.
const (
	HubStateFormat = "fettle.hubstate/1"
	HubCheckFormat = "fettle.fleet.check/1"
)

// HubState is the shared data of the hubs that is not stored anywhere else. It contains digests of
// tokens, and no token.
type HubState struct {
	Format string `json:"format"`
	Fleet  string `json:"fleet"`
	Hub    string `json:"hub"`
	At     int64  `json:"at"`
	// Buckets has all entries, by bucket and key.
	Buckets map[string]map[string]string `json:"buckets"`
}

// BackupSaved reports that a backup is stored; At is the time of its HubState.
type BackupSaved struct {
	At int64 `json:"at"`
}

// HubCheck is the result of a detailed check of a hub.
type HubCheck struct {
	Format string       `json:"format"`
	Hub    string       `json:"hub"`
	Well   bool         `json:"well"`
	Checks []HubFinding `json:"checks"`
}

// HubFinding is the result of one check.
type HubFinding struct {
	Name string `json:"name"`
	Well bool   `json:"well"`
	Text string `json:"text"`           // the state
	Hint string `json:"hint,omitempty"` // the next step, if it is not well
}
