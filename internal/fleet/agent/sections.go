package agent

import (
	"cmp"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
)

// sections divides a run by modules, so that a failure in one module does not prevent other modules
// from being applied. Each section contains the addresses of its module, and in Behind the
// addresses of all modules that need it directly or indirectly. States outside modules form one
// more section.
func (o owners) sections(want fleet.Assignment) []executor.Section {
	of := map[string][]addr.Addr{}
	for a, module := range o {
		of[module] = append(of[module], a)
	}
	for _, list := range of {
		slices.Sort(list)
	}
	var out []executor.Section
	for _, module := range slices.Sorted(maps.Keys(of)) {
		s := executor.Section{Name: cmp.Or(module, "the top of the repository"), Addrs: of[module]}
		for _, behind := range needing(want, module) {
			s.Dependents = append(s.Dependents, of[behind]...)
		}
		out = append(out, s)
	}
	return out
}

// needing returns the modules that need a module directly or indirectly, sorted.
func needing(want fleet.Assignment, module string) []string {
	seen := map[string]bool{module: true}
	for more := true; more; {
		more = false
		for _, as := range want.Modules {
			if !seen[as.Module] && slices.ContainsFunc(as.Needs, func(n fleet.Need) bool { return seen[n.Module] }) {
				seen[as.Module], more = true, true
			}
		}
	}
	delete(seen, module)
	return slices.Sorted(maps.Keys(seen))
}
