package fleet

import (
	"errors"
	"fmt"
)

// Bounds of a Claim and of each text in it, in bytes.
const (
	maxClaim     = 4 << 10
	maxClaimText = 255
)

// Claim is sent by an agent to show that it has the newest value that a hub gave to its target.
// The answer is a Claimed with the next value. Two hosts with one identity cannot both have the
// newest value, which package clone uses to detect them.
type Claim struct {
	// Value is the value that the agent stored last; "" if it has none.
	Value string `json:"value,omitempty"`
	// Process is random and new in each process of the agent.
	Process string `json:"process"`
	Copy
}

// Claimed answers a Claim.
type Claimed struct {
	Value string `json:"value"` // to be shown in the next claim
	// Seq is the number of the newest report of the target that the hub has. A host that numbered
	// its reports below it has an old state, or another host reported meanwhile: hubs ignore its
	// reports until they have higher numbers.
	Seq uint64 `json:"seq,omitempty"`
}

// Copy describes a host with the identity of a target, for operators. Nothing is decided by it:
// the agent itself says it, and hosts that were copied can agree in all of it.
type Copy struct {
	Host    string `json:"host,omitempty"`    // its name
	Machine string `json:"machine,omitempty"` // derived from its machine-id
	Boot    string `json:"boot,omitempty"`    // identity of the boot, of the kernel
	Seen    int64  `json:"seen,omitempty"`    // when it last claimed, in seconds since 1970, by a hub
}

// ParseClaim reads a claim. It ignores fields that it does not know, of a newer agent.
func ParseClaim(b []byte) (Claim, error) {
	var c Claim
	if len(b) > maxClaim {
		return c, fmt.Errorf("cannot read a claim of %d bytes: %d are the most", len(b), maxClaim)
	}
	if err := decodeReport(b, &c); err != nil {
		return c, fmt.Errorf("cannot read a claim: %w", err)
	}
	for _, text := range []string{c.Value, c.Process, c.Host, c.Machine, c.Boot} {
		if len(text) > maxClaimText {
			return c, fmt.Errorf("cannot read a claim with a text of %d bytes: %d are the most", len(text), maxClaimText)
		}
	}
	if c.Process == "" {
		return c, errors.New("cannot read a claim that names no process")
	}
	return c, nil
}
