package machine

import "fettle.dev/fettle/internal/fleet"

// order is (epoch, generation).
type order struct{ epoch, generation uint64 }

func orderOf(a *fleet.Assignment) order {
	if a == nil {
		return order{}
	}
	return order{a.Epoch, a.Generation}
}
