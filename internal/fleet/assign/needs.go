package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// united combines needs from layers with the own needs of a module at its pin.
func united(here, there []fleet.Need) []fleet.Need {
	var out []fleet.Need
	for _, n := range there {
		if !n.Layer {
			out = append(out, n)
		}
	}
	for _, n := range here {
		if n.Layer && !slices.ContainsFunc(out, func(o fleet.Need) bool { return o.Module == n.Module }) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b fleet.Need) int { return cmp.Compare(a.Module, b.Module) })
	return out
}
