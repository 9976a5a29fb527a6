package records

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Request is a request that waits for a decision. A target has one of each kind, and of
// certificates one for the same names: a newer request replaces the older one.
type Request struct {
	Target fleet.TargetID `json:"target"`
	fleet.Request
	At int64 `json:"at"` // ns since 1970
}

// RequestKey returns the key of a pending request in the store.
func RequestKey(id fleet.TargetID, a fleet.Request) string {
	key := string(id) + "/" + string(a.What)
	if a.What != fleet.RequestCertificate {
		return key
	}
	sum := sha256.Sum256([]byte(strings.Join(a.Names, " ")))
	return key + "/" + hex.EncodeToString(sum[:8])
}
