package query

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// targetIndex finds the targets of many selectors. Comparing each selector with each target takes seconds for some
// hundred selectors and 10,000 targets.
type targetIndex struct {
	names   []string // sorted
	labels  map[string]map[string]string
	byLabel map[string]map[string][]string // by label and value: names, sorted
	known   map[string][]string            // by patterns of a selector without labels
}

func indexTargets(p *source.Program, r *syntax.Reports) *targetIndex {
	x := &targetIndex{labels: map[string]map[string]string{}, byLabel: map[string]map[string][]string{},
		known: map[string][]string{}}
	for _, t := range p.Targets {
		x.labels[t.Name] = TargetLabels(p, r, t)
	}
	x.names = syntax.SortedNames(x.labels)
	for _, name := range x.names {
		for label, value := range x.labels[name] {
			if x.byLabel[label] == nil {
				x.byLabel[label] = map[string][]string{}
			}
			x.byLabel[label][value] = append(x.byLabel[label][value], name)
		}
	}
	return x
}

// selected returns the names of the targets that a selector selects, sorted. The caller must not modify them.
func (x *targetIndex) selected(s *source.Selector) (out []string) {
	key := fmt.Sprintf("%q", s.Patterns)
	if found, ok := x.known[key]; ok && s.Labels == nil {
		return found
	}
	for _, name := range x.candidates(s) {
		if s.Matches(name, x.labels[name]) {
			out = append(out, name)
		}
	}
	if s.Labels == nil {
		x.known[key] = out
	}
	return out
}

// candidates returns targets that contain all that a selector selects, sorted.
func (x *targetIndex) candidates(s *source.Selector) []string {
	out := x.names
	if s.Names != nil && !strings.ContainsAny(strings.Join(s.Patterns, ""), `*?[\/`) {
		out = slices.DeleteFunc(slices.Clone(s.Patterns), func(name string) bool { return x.labels[name] == nil })
		slices.Sort(out)
		return slices.Compact(out)
	}
	for label, values := range s.Labels {
		if slices.Contains(values, "*") {
			continue
		}
		var found []string
		for _, v := range values {
			found = append(found, x.byLabel[label][v]...)
		}
		if len(found) < len(out) {
			slices.Sort(found)
			out = slices.Compact(found)
		}
	}
	return out
}
