package rollouts

import (
	"cmp"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// choice is the decision about the parts of one assignment.
type choice struct {
	wants   []rollout.Change // from the newest assignment to the desired one
	allowed func(rollout.Change) (bool, string)
	// stable returns the stable content of a part for a target that has none, if it may have it without a rollout.
	stable func(part string) (fleet.Assigned, bool)
	// content returns content of the log.
	content func(rollout.Change) (fleet.Assigned, bool)
	returns []rollout.Change // parts that the target must have again
	known   *differences     // has results for other targets
	// requires knows which contents fit each other. The zero value means that all do.
	requires requirements
}

// compose returns the assignment that a target gets now, which is the zero value if it gets none
// yet. why is the reason why it differs from want, or "".
func (c choice) compose(was *fleet.Assignment, want fleet.Assignment) (give fleet.Assignment, why string) {
	isNew := was == nil || was.Withdrawn != ""
	var now composed
	if len(c.returns) > 0 {
		has := present(was)
		why = c.goBack(has)
		now = assemble(has, was, want)
	} else {
		now, why = c.goOn(was, want)
		if now.missing == "" {
			now.missing = c.requires.unfit(was, now.modules)
		}
	}
	switch {
	case isNew && (now.root == nil || now.missing != ""):
		return fleet.Assignment{}, cmp.Or(why, now.missing)
	case now.missing != "":
		return *was, strings.TrimSuffix(now.missing+": "+why, ": ")
	}
	give = want
	give.Modules = now.modules
	if give.Root = (fleet.Assigned{}); now.root != nil {
		give.Root = *now.root
	}
	if len(c.returns) > 0 {
		give.Windows = nil // the agent returns at any time
	}
	if was != nil && sameContent(was.Root, give.Root) {
		give.Root = rootOf(*was, want, give)
	}
	if why != "" {
		give.Withheld = withheld(was, want, give)
	}
	if why != "" && was != nil {
		give.Exported = union(want.Exported, was.Exported)
	}
	return give, why
}

// goBack replaces present parts with earlier content.
func (c choice) goBack(has map[string]fleet.Assigned) (why string) {
	for _, r := range c.returns {
		if r.Digest == "" {
			delete(has, r.Part)
		} else if p, ok := c.content(r); ok {
			has[r.Part] = p
		}
	}
	return "the rollout is being rolled back"
}

// rootOf returns the root bundle if its content is unchanged: with the commit of the modules if one of them
// changes, as package assign does.
func rootOf(was, want, give fleet.Assignment) fleet.Assigned {
	if fleet.SameModules(was.Modules, give.Modules) || !sameContent(was.Root, want.Root) {
		return was.Root
	}
	return want.Root
}

// union returns the tables of both lists, sorted. If both lists have a table, a has priority.
func union(a, b []exported.Table) []exported.Table {
	out := slices.Clone(a)
	for _, t := range b {
		if !slices.ContainsFunc(a, func(o exported.Table) bool { return o.Module == t.Module && o.Output == t.Output }) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b exported.Table) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Output, b.Output))
	})
	return out
}

// goOn replaces present parts with allowed content.
func (c choice) goOn(was *fleet.Assignment, want fleet.Assignment) (out composed, why string) {
	all, why := c.choose(was)
	key := combination{lists: listsOf(nil, want.Modules), choices: choicesOf(all)}
	if was != nil && was.Withdrawn == "" {
		key.lists = listsOf(was.Modules, want.Modules)
	}
	out, ok := c.known.composed[key]
	if !ok { // the root bundle needs no modules, so it does not count
		out = assemble(apply(all, present(was), want), was, want)
		c.known.composed = limited(c.known.composed, maxLists)
		c.known.composed[key] = out
	}
	out.root = rootAfter(all, was, want)
	return out, why
}

// choose decides about all changes. why is the reason why a change is not allowed, or "".
func (c choice) choose(was *fleet.Assignment) (all []taken, why string) {
	all = make([]taken, 0, len(c.wants))
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
