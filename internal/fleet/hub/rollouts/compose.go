package rollouts

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// choice is the decision about the parts of one assignment.
type choice struct {
	wants   []rollout.Change // from the newest assignment to the desired one
	allowed func(rollout.Change) (bool, string)
	// stable returns the stable content of a part for a target that has none.
	stable func(part string) (fleet.Assigned, bool)
	// content returns content of the log.
	content func(digest string) (fleet.Assigned, bool)
	returns []rollout.Change // parts that the target must have again
	known   *differences     // has results for other targets
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
	}
	switch {
	case isNew && (now.root == nil || now.missing != ""):
		return fleet.Assignment{}, cmp.Or(why, now.missing)
	case now.missing != "":
		return *was, now.missing + ": " + why
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
	if why != "" && was != nil {
		give.Exported = union(want.Exported, was.Exported)
	}
	return give, why
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

// goBack replaces present parts with earlier content.
func (c choice) goBack(has map[string]fleet.Assigned) (why string) {
	for _, r := range c.returns {
		if r.Digest == "" {
			delete(has, r.Part)
		} else if p, ok := c.content(r.Digest); ok {
			has[r.Part] = p
		}
	}
	return "the rollout is being rolled back"
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
