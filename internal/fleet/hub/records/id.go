package records

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID returns a random ID for a request or a job.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// AlarmsKey is the key of all alarms.
const AlarmsKey = "now"
