package elastic

import "slices"

// best returns the index of the hub with the smallest cost. Of equal costs, the first one in hubs wins.
func best(hubs []Hub, cost func(i int) []int) (at int) {
	for i := range hubs {
		if slices.Compare(cost(i), cost(at)) < 0 {
			at = i
		}
	}
	return at
}

// number returns 1 for true.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// without returns a copy of hubs without the hub at an index.
func without(hubs []Hub, i int) []Hub { return slices.Delete(slices.Clone(hubs), i, i+1) }
