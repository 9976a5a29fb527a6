package fleet

import (
	"errors"
	"fmt"
)

// Limits of a Claim and of each text in it, in bytes.
const (
	maxClaim     = 4 << 10
	maxClaimText = 255
)

// Claim is sent by an agent to prove that it has the newest value that a hub gave to its target.
// The answer is a Claimed with the next value. If two hosts have the same identity, only one can
// have the newest value; package clone detects them by this.
type Claim struct {
	// Value is the value that the agent stored last; "" if it has none.
	Value string `json:"value,omitempty"`
	// Process is random and different in each process of the agent.
	Process string `json:"process"`
	Copy
}

// Claimed answers a Claim.
type Claimed struct {
	Value string `json:"value"` // for the next claim
	// Seq is the number of the newest report of the target at the hub. If a host numbers its
	// reports below it, its state is old, or another host has reported: hubs ignore its reports
	// until their numbers are higher.
	Seq uint64 `json:"seq,omitempty"`
}

// Copy describes a host with the identity of a target, for operators. Hubs decide nothing by it:
// the agent itself sends it, and cloned hosts can have equal values.
type Copy struct {
	Host    string `json:"host,omitempty"`    // its name
	Machine string `json:"machine,omitempty"` // derived from its machine-id
	Boot    string `json:"boot,omitempty"`    // the kernel's identity of the boot
	Seen    int64  `json:"seen,omitempty"`    // time of its last claim, in seconds since 1970, by a hub
}

// ParseClaim parses a claim. It ignores unknown fields, which a newer agent may send.
func ParseClaim(b []byte) (Claim, error) {
	var c Claim
	if len(b) > maxClaim {
		return c, fmt.Errorf("cannot read a claim of %d bytes: the maximum is %d", len(b), maxClaim)
	}
	if err := decodeReport(b, &c); err != nil {
		return c, fmt.Errorf("cannot read a claim: %w", err)
	}
	for _, text := range []string{c.Value, c.Process, c.Host, c.Machine, c.Boot} {
		if len(text) > maxClaimText {
			return c, fmt.Errorf("cannot read a claim with a text of %d bytes: the maximum is %d", len(text), maxClaimText)
		}
	}
	if c.Process == "" {
		return c, errors.New("cannot read a claim without a process")
	}
	return c, nil
}
