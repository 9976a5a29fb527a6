package query

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Innermost returns the environment of a target that several environments select: the environment below all others.
// parents has the parent of each environment with a parent. If no environment is below all others, conflict contains
// two of them that do not contain each other, in the order of selected. An unknown parent ends a chain, and so does a
// cycle.
func Innermost(parents map[string]string, selected []string) (name string, conflict []string) {
	for _, e := range selected {
		if name == "" || slices.Contains(above(parents, e), name) {
			name = e
		}
	}
	up := above(parents, name)
	for _, e := range selected {
		if e == name || slices.Contains(up, e) {
			continue
		}
		if slices.Index(selected, e) < slices.Index(selected, name) {
			return "", []string{e, name}
		}
		return "", []string{name, e}
	}
	return name, nil
}

// above returns the ancestors of an environment, the nearest first.
func above(parents map[string]string, name string) (out []string) {
	for up := parents[name]; up != "" && !slices.Contains(out, up); up = parents[up] {
		out = append(out, up)
	}
	return out
}

// environmentOf returns the environment of a target, nil if it belongs to none. The error tells that several select it.
func environmentOf(p *source.Program, t *source.Target, labels map[string]string) (*source.Environment, diag.List) {
	if e := dynamic(t); e != nil {
		if e.Errors != nil {
			return nil, e.Errors
		}
		return e, nil
	}
	all := p.Selecting(t.Name, labels)
	if len(all) < 2 {
		return append(all, nil)[0], nil
	}
	var names []string
	parents := map[string]string{}
	for _, e := range all {
		names = append(names, e.Name)
		for _, up := range e.Chain {
			parents[up.Name] = up.Parent
		}
	}
	name, conflict := Innermost(parents, names)
	if conflict == nil {
		return all[slices.Index(names, name)], nil
	}
	a, b := all[slices.Index(names, conflict[0])], all[slices.Index(names, conflict[1])]
	return nil, diag.List{diag.Errorf(t.Range, "Target in two environments",
		"The target %q belongs to the environment %q, declared at %s, and to %q, declared at %s. Neither contains the "+
			"other. Change their labels or targets, or make one the parent of the other.", t.Name, a.Name, a.Range, b.Name,
		b.Range)}
}

// environmentMembers returns the members of all environments by name, sorted.
func environmentMembers(p *source.Program, r *syntax.Reports, all *targetIndex) map[string][]string {
	out := map[string][]string{}
	if len(p.Environments)+len(p.Dynamic) == 0 {
		return out
	}
	for _, t := range p.Targets {
		e, ds := environmentOf(p, t, all.labels[t.Name])
		switch {
		case e != nil:
			out[e.Name] = append(out[e.Name], t.Name)
		case ds != nil:
			if declared(t) {
				r.Add(ds...)
			}
			if dynamic(t) != nil {
				continue
			}
			for _, e := range p.Selecting(t.Name, all.labels[t.Name]) {
				out[e.Name] = append(out[e.Name], t.Name)
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// declared reports whether the repository decides the environment of a target. A user of a hub decides about other
// targets, so the error of one of them must not concern all targets.
func declared(t *source.Target) bool {
	return (t.Enrolled == nil || t.Enrolled.Declared) && dynamic(t) == nil
}

// dynamic returns the environment that a user of a hub created for a target, nil for none.
func dynamic(t *source.Target) *source.Environment {
	if t.Enrolled == nil {
		return nil
	}
	return t.Enrolled.Environment
}

// validEnvironments reports an error in environments that another process made.
func validEnvironments(all []Scope) error {
	names, parents := []string{}, map[string][]string{}
	for _, s := range all {
		if s.Kind == source.EnvironmentKind {
			names = append(names, s.Name)
			parents[s.Name] = append(parents[s.Name], s.Parent)
		}
	}
	for _, s := range all {
		switch {
		case s.Kind != source.EnvironmentKind && s.Environment != Environment{}:
			return fmt.Errorf("the scope %.80q has values of an environment", s.ID())
		case s.Parent != "" && parents[s.Parent] == nil:
			return fmt.Errorf("the parent %.80q of the environment %.80q does not exist", s.Parent, s.Name)
		case s.Domain != "" && !source.ValidDomain(s.Domain):
			return fmt.Errorf("the environment %.80q has a domain that is not valid", s.Name)
		}
	}
	if c := source.Cycle(parents, names); c != nil {
		return fmt.Errorf("the environment %.80q is its own parent", c[0])
	}
	return nil
}
