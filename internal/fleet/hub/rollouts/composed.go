package rollouts

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// assemble orders the parts that a target has.
func assemble(has map[string]fleet.Assigned, was *fleet.Assignment, want fleet.Assignment) composed {
	out := composed{modules: ordered(has, want, was), missing: unmet(has)}
	if root, ok := has[rootPart]; ok {
		out.root = &root
	}
	if was != nil && len(out.modules) > 0 && fleet.SameModules(was.Modules, out.modules) {
		out.modules = was.Modules // comparisons of equal lists with the same address are fast
	}
	return out
}

// taken is the choice about one change: the desired content, the stable content, or none.
type taken struct {
	change  rollout.Change
	allowed bool
	stable  *fleet.Assigned
}

// choicesOf returns a text that identifies choices about the same changes.
func choicesOf(all []taken) string {
	var b strings.Builder
	for _, t := range all {
		switch {
		case t.change.Part == rootPart:
			b.WriteByte('r')
		case t.allowed:
			b.WriteByte('y')
		case t.stable != nil:
			b.WriteString("s" + digest(*t.stable) + t.stable.Revision.Commit)
		default:
			b.WriteByte('n')
		}
	}
	return b.String()
}

// apply changes the parts that a target has.
func apply(all []taken, has map[string]fleet.Assigned, want fleet.Assignment) map[string]fleet.Assigned {
	for _, t := range all {
		p, wanted := find(&want, t.change.Part)
		switch {
		case t.allowed && wanted:
			has[t.change.Part] = p
		case t.allowed:
			delete(has, t.change.Part)
		case t.stable != nil:
			has[t.change.Part] = *t.stable
		}
	}
	return has
}

// rootAfter returns the root bundle after the choices, or nil if there is none.
func rootAfter(all []taken, was *fleet.Assignment, want fleet.Assignment) *fleet.Assigned {
	for _, t := range all {
		switch {
		case t.change.Part != rootPart:
		case t.allowed:
			return &want.Root
		case t.stable != nil:
			return t.stable
		}
	}
	if was == nil || was.Withdrawn != "" {
		return nil
	}
	return &was.Root
}

// present returns the parts of an assignment by name.
func present(a *fleet.Assignment) map[string]fleet.Assigned {
	has := map[string]fleet.Assigned{}
	if a != nil && a.Withdrawn == "" {
		for _, p := range parts(*a) {
			has[partName(p)] = p
		}
	}
	return has
}

// unmet returns the reason why the parts cannot be used together, or "".
func unmet(has map[string]fleet.Assigned) string {
	for _, name := range sortedNames(has) {
		p := has[name]
		for _, n := range p.Needs {
			if _, ok := has[n.Module]; !ok {
				return p.Module + " needs " + n.Module + ", which waits for a rollout"
			}
		}
	}
	return ""
}

// ordered returns the modules in the order of the desired assignment, followed by other ones.
func ordered(has map[string]fleet.Assigned, want fleet.Assignment, was *fleet.Assignment) []fleet.Assigned {
	out := make([]fleet.Assigned, 0, len(has))
	seen := map[string]bool{rootPart: true}
	add := func(name string) {
		if p, ok := has[name]; ok && !seen[name] {
			out = append(out, p)
		}
		seen[name] = true
	}
	for _, m := range want.Modules {
		add(m.Module)
	}
	if was != nil {
		for _, m := range was.Modules {
			add(m.Module)
		}
	}
	for _, name := range sortedNames(has) {
		add(name)
	}
	return out
}

func sortedNames(has map[string]fleet.Assigned) []string {
	out := make([]string, 0, len(has))
	for name := range has {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
