package records

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/bus"
)

// Incompatible records that a hub refused an agent because they have no protocol version in common.
// The store has one record per target, until a hub accepts the agent.
type Incompatible struct {
	bus.VersionError
	By string `json:"by"` // the name of the hub that refused it
}

// Text describes the versions of both sides.
func (i Incompatible) Text() string {
	return fmt.Sprintf("the hub %s refuses the agent: %s", i.By, i.VersionError.Error())
}
