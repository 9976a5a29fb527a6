package rollouts

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// withheld returns the modules that a target does not get now, although its configuration can name them: by the new
// root bundle, by new labels, or by the previous root bundle, which named what the target had or waited for. Agents
// compile the root bundle without these modules, and ignore names that it does not contain.
func withheld(was *fleet.Assignment, want, give fleet.Assignment) (out []string) {
	isNew := sameContent(give.Root, want.Root)
	if isNew || was == nil || !maps.Equal(was.Labels, give.Labels) {
		out = lacking(want.Modules, give.Modules)
	}
	if was != nil && !isNew {
		out = append(out, lacking(was.Modules, give.Modules)...)
	}
	if was != nil {
		for _, module := range was.Withheld {
			if !hasModule(give.Modules, module) && (!isNew || hasModule(want.Modules, module)) {
				out = append(out, module)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lacking returns the modules of a list that another list, usually in the same order, does not have.
func lacking(all, present []fleet.Assigned) (out []string) {
	if fleet.SameModules(all, present) {
		return nil // the usual case
	}
	next := 0
	for i := range all {
		module := all[i].Module
		if next < len(present) && present[next].Module == module {
			next++
		} else if !hasModule(present, module) {
			out = append(out, module)
		}
	}
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
