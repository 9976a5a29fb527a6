package bustest

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// IDs returns the IDs of n targets.
func IDs(n int) []fleet.TargetID {
	var out []fleet.TargetID
	for i := range n {
		out = append(out, fleet.TargetID(fmt.Sprintf("target%02d", i)))
	}
	return out
}
