package rollouts

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// requirements computes rollout.Target.Requires. Targets with the same lists of modules share the result.
type requirements struct {
	versions assign.Versions
	known    map[lists]map[string][]rollout.Required
	// eager means that content whose version is not known fulfills all constraints, which is for previews.
	eager bool
}

func (f Fleet) requirements() requirements {
	r := requirements{eager: f.Eager}
	for _, v := range f.Versions {
		if len(v.Requires) > 0 {
			r.versions, r.known = f.Versions, map[lists]map[string][]rollout.Required{}
			return r
		}
	}
	return r
}

// of returns the changes that a target must have before others, or together with them.
func (r requirements) of(d assign.Desired) map[string][]rollout.Required {
	if r.versions == nil || d.Want == nil {
		return nil
	}
	var was []fleet.Assigned
	if d.Was != nil && d.Was.Withdrawn == "" {
		was = d.Was.Modules
	}
	key := listsOf(was, d.Want.Modules)
	known, ok := r.known[key]
	if !ok {
		known = r.between(was, d.Want.Modules)
		r.known[key] = known
	}
	return known
}

// between compares two lists of modules.
func (r requirements) between(was, want []fleet.Assigned) map[string][]rollout.Required {
	if fleet.SameModules(was, want) {
		return nil
	}
	had, will := byModule(was), byModule(want)
	out := map[string][]rollout.Required{}
	for _, next := range want {
		old, has := had[next.Module]
		if has && sameContent(old, next) {
			continue
		}
		for _, other := range changed(had, will) {
			if why := r.unmet(had, next, other); why != "" && other != next.Module {
				out[next.Module] = append(out[next.Module], rollout.Required{Part: other, Why: why})
			}
		}
	}
	closeOver(out)
	return out
}

// unmet returns the reason why new content of a module cannot be used with the present content of another module, or
// "". If the modules do not fit each other now, the present constraint does not count.
func (r requirements) unmet(had map[string]fleet.Assigned, next fleet.Assigned, other string) string {
	present, has := had[other]
	if !has {
		return r.absent(next, other)
	}
	if why := r.versions.Unmet(next, present); why != "" && r.counts(present) {
		return why
	}
	old, hasOld := had[next.Module]
	if !hasOld || r.versions.Unmet(present, old) != "" {
		return ""
	}
	return r.versions.Unmet(present, next)
}

// absent returns the reason why new content of a module cannot be used without another module, or "".
func (r requirements) absent(next fleet.Assigned, other string) string {
	if need := r.versions.Need(next, other); need != "" {
		return need + ", and the target does not have this module yet"
	}
	return ""
}

// counts reports whether the version of content is known, or must be.
func (r requirements) counts(present fleet.Assigned) bool {
	_, known := r.versions.Of(present)
	return known || !r.eager
}

// unfit returns the reason why modules of a new assignment do not fit each other, or "". It is "" if the previous
// assignment has both modules already, for example after a rollback.
func (r requirements) unfit(was *fleet.Assignment, give []fleet.Assigned) string {
	if r.versions == nil {
		return ""
	}
	isNew := map[string]bool{}
	for _, m := range give {
		old, has := find(was, m.Module)
		isNew[m.Module] = !has || !sameContent(old, m)
	}
	for _, first := range give {
		if declared, _ := r.versions.Of(first); len(declared.Requires) == 0 {
			continue
		}
		for _, second := range give {
			if _, known := r.versions.Of(second); !known || !isNew[first.Module] && !isNew[second.Module] {
				continue
			}
			if why := r.versions.Unmet(first, second); why != "" {
				return why
			}
		}
	}
	return ""
}

func byModule(list []fleet.Assigned) map[string]fleet.Assigned {
	out := make(map[string]fleet.Assigned, len(list))
	for _, m := range list {
		out[m.Module] = m
	}
	return out
}

// changed returns the modules that are new, different or removed, sorted.
func changed(had, will map[string]fleet.Assigned) (out []string) {
	for name, next := range will {
		if old, ok := had[name]; !ok || !sameContent(old, next) {
			out = append(out, name)
		}
	}
	for name := range had {
		if _, ok := will[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// closeOver adds what required parts require themselves.
func closeOver(all map[string][]rollout.Required) {
	for added := 1; added > 0; {
		added = 0
		for _, part := range slices.Sorted(maps.Keys(all)) {
			for _, r := range all[part] {
				for _, further := range all[r.Part] {
					if further.Part != part && !slices.ContainsFunc(all[part], func(o rollout.Required) bool {
						return o.Part == further.Part
					}) {
						all[part] = append(all[part], further)
						added++
					}
				}
			}
		}
	}
}
