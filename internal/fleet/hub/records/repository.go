package records

import (
	"encoding/hex"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/repo"
)

// Ref is the last result for a branch, tag or commit that the fleet follows.
type Ref struct {
	Name     string         `json:"name"`
	Revision fleet.Revision `json:"revision"`
	Error    string         `json:"error,omitempty"`
	Read     int64          `json:"read"` // time of the result, in ns since 1970
}

// Result returns the ref as the leader computes with it.
func (r Ref) Result() *assign.Ref { return &assign.Ref{Commit: r.Revision.Commit, Error: r.Error} }

// RefKey returns the key of a ref in the store. It encodes the name, because keys allow fewer
// characters.
func RefKey(name string) string { return hex.EncodeToString([]byte(name)) }

// Repository is the git repository that a fleet follows.
type Repository struct {
	Name   string        `json:"name"`
	URL    string        `json:"url"`
	Branch string        `json:"branch"`
	Poll   time.Duration `json:"poll_ns"`
	// Key is the file of a private key for SSH, and Known the file of trusted host keys. "" means
	// the files of the user as which the hub runs.
	Key   string `json:"key,omitempty"`
	Known string `json:"known,omitempty"`
}

// Access returns the files for git.
func (r Repository) Access() repo.Access { return repo.Access{Key: r.Key, KnownHosts: r.Known} }
