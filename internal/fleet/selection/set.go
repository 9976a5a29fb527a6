package selection

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/query"
)

// set is a set of targets, as bits by their index in the inventory.
type set []uint64

func (e *evaluation) none() set { return make(set, (len(e.targets)+63)/64) }

func (e *evaluation) every() set {
	s := e.none()
	s.flip(len(e.targets))
	return s
}

// which returns the targets for which holds is true.
func (e *evaluation) which(holds func(query.Target) bool) set {
	s := e.none()
	for i, t := range e.targets {
		if holds(t) {
			s.add(i)
		}
	}
	return s
}

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s set) empty() bool { return !slices.ContainsFunc(s, func(w uint64) bool { return w != 0 }) }

func (s set) or(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s set) and(o set) {
	for i := range s {
		s[i] &= o[i]
	}
}

// flip replaces the set by its complement in n targets.
func (s set) flip(n int) {
	for i := range s {
		s[i] = ^s[i]
	}
	if rest := n % 64; rest > 0 {
		s[len(s)-1] &= 1<<rest - 1
	}
}

// all returns the values of a property of all targets, sorted.
func (e *evaluation) all(of func(query.Target) []string) []string { return allOf(e.targets, of) }

func allOf(targets []query.Target, of func(query.Target) []string) []string {
	found := map[string]bool{}
	for _, t := range targets {
		for _, name := range of(t) {
			found[name] = true
		}
	}
	return keys(found)
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// overview lists the names, groups, roles and labels of the inventory.
func overview(targets []query.Target) string {
	var parts []string
	for _, x := range []struct {
		what string
		of   func(query.Target) []string
	}{
		{"targets", func(t query.Target) []string { return []string{t.Name} }}, {"target groups", groups}, {"roles", roles},
		{"labels", func(t query.Target) []string { return keys(t.Labels) }},
	} {
		if names := allOf(targets, x.of); len(names) > 0 {
			parts = append(parts, x.what+" "+few(names))
		}
	}
	return "Available: " + strings.Join(parts, "; ") + "."
}
