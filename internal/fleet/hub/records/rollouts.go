package records

import (
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// RolloutsFormat is the supported format.
const RolloutsFormat = "fettle.rollouts/1"

// Rollouts is one entry of the log of rollouts: events, or a snapshot. Its key is its number.
type Rollouts struct {
	Format string          `json:"format"`
	Events []rollout.Event `json:"events,omitempty"`
	// Snapshot replaces this entry and all earlier ones.
	Snapshot *rollout.Snapshot `json:"snapshot,omitempty"`
	// Contents contains the parts of assignments that the events name and that no earlier entry contains, by
	// digest. The key of a part whose content is equal to another one in the entry also has its name: "DIGEST PART".
	Contents map[string]fleet.Assigned `json:"contents,omitempty"`
}

// maxRolloutsBytes limits the size of a decompressed entry. The store limits the compressed size.
const maxRolloutsBytes = 32 << 20

// FormatRollouts encodes an entry, and compresses it: it contains many similar identifiers.
func FormatRollouts(r Rollouts) ([]byte, error) {
	text, err := json.Marshal(r)
	return fleet.Compress(text), err
}

// ParseRollouts decodes the text of FormatRollouts. A hub must not continue with a log that it understands only in
// part, so an unknown format is an error.
func ParseRollouts(b []byte) (r Rollouts, err error) {
	text, err := new(fleet.Decompressor).Decompress(b, maxRolloutsBytes)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("cannot read rollouts: %w", err)
	case r.Format != RolloutsFormat:
		return r, fmt.Errorf("this version of fettle cannot read rollouts in the format %.40q", r.Format)
	}
	return r, nil
}
