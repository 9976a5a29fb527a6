package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// registry contains the registered targets in the order of the computation, and their EnrolledDigest. They are the
// same for most computations.
type registry struct {
	targets  []fleet.Target
	enrolled string
}

// shared contains lists that many targets share. They are valid for one state without later events, except
// assignments. The lists do not change, and stay in memory as long as their address identifies a result.
type shared struct {
	lists   map[listKey][]fleet.Assigned
	carried map[carriedKey][]fleet.Assigned
}

func newShared() *shared {
	return &shared{map[listKey][]fleet.Assigned{}, map[carriedKey][]fleet.Assigned{}}
}

// maxCarried limits the lists that are kept.
const maxCarried = 1000

// begin begins a computation. Lists with replacements are not shared between computations, because their creation
// raises alarms.
func (in Input) begin() *shared {
	s := in.shared
	if s == nil || len(in.Replacements) > 0 {
		return newShared()
	}
	if len(s.carried) > maxCarried {
		s.carried = map[carriedKey][]fleet.Assigned{}
	}
	return s
}

func newRegistry(all []fleet.Target) registry {
	slices.SortFunc(all, compareTargets)
	return registry{all, EnrolledDigest(all)}
}

func compareTargets(a, b fleet.Target) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
