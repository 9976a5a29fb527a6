package rollouts

import (
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// composed is the result of choices for the parts of an assignment.
type composed struct {
	root    *fleet.Assigned
	modules []fleet.Assigned
	missing string // why the parts cannot be used together, or ""
}

// combination identifies a result for many targets: the same lists of modules, and the same choices about their
// differences.
type combination struct {
	lists
	choices string
}

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

// goOn replaces present parts with allowed content.
func (c choice) goOn(was *fleet.Assignment, want fleet.Assignment) (out composed, why string) {
	all, why := c.choose(was)
	key := combination{lists: listsOf(nil, want.Modules), choices: choicesOf(all)}
	if was != nil && was.Withdrawn == "" {
		key.lists = listsOf(was.Modules, want.Modules)
	}
	out, ok := c.known.composed[key]
	if !ok || len(want.Root.Needs) > 0 || was != nil && len(was.Root.Needs) > 0 {
		out = assemble(apply(all, present(was), want), was, want)
		c.known.composed = limited(c.known.composed, maxLists)
		c.known.composed[key] = out
	}
	out.root = rootAfter(all, was, want)
	return out, why
}

// choose decides about all changes. why is the reason why a change is not allowed, or "".
func (c choice) choose(was *fleet.Assignment) (all []taken, why string) {
	for _, change := range c.wants {
		ok, reason := c.allowed(change)
		one := taken{change: change, allowed: ok}
		if !ok {
			why = reason
			if old, _ := find(was, change.Part); old.Bundle.Digest == "" {
				if stable, known := c.stable(change.Part); known {
					one.stable = &stable
				}
			}
		}
		all = append(all, one)
	}
	return all, why
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
