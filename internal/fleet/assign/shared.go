package assign

import "fettle.dev/fettle/internal/fleet"

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
func (s *shared) begin(replacements bool) *shared {
	if s == nil || replacements {
		return newShared()
	}
	if len(s.carried) > maxCarried {
		s.carried = map[carriedKey][]fleet.Assigned{}
	}
	return s
}

// listKey identifies a list of modules that many targets share.
type listKey struct {
	ref, rollout string
	first        *Module
	count        int
}

// carriedKey identifies a result of carriedList, which many targets share.
type carriedKey struct {
	was, want   *fleet.Assigned
	had, wanted int
}
