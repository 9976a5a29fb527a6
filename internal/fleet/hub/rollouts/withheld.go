package rollouts

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// withheld returns the modules of a desired assignment that a target does not get yet, although its configuration can
// name them: by the new root bundle, by new labels, or as before. Agents compile the root bundle without them.
func withheld(was *fleet.Assignment, want, give fleet.Assignment) (out []string) {
	named := sameContent(give.Root, want.Root) || was == nil || !maps.Equal(was.Labels, give.Labels)
	for _, m := range want.Modules {
		if _, ok := find(&give, m.Module); !ok && (named || slices.Contains(was.Withheld, m.Module)) {
			out = append(out, m.Module)
		}
	}
	slices.Sort(out)
	return out
}
