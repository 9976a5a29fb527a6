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
	next := 0 // in the modules of give, which usually have the order of want
	for i := range want.Modules {
		module := want.Modules[i].Module
		if next < len(give.Modules) && give.Modules[next].Module == module {
			next++
		} else if !hasModule(give.Modules, module) && (named || slices.Contains(was.Withheld, module)) {
			out = append(out, module)
		}
	}
	slices.Sort(out)
	return out
}

func hasModule(all []fleet.Assigned, module string) bool {
	for i := range all { // without copies, for very many targets
		if all[i].Module == module {
			return true
		}
	}
	return false
}
