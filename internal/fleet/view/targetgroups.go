package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// MaxGroups limits the groups in one answer.
const MaxGroups = 500

// grouping returns the names of the groups of a target.
type grouping func(entry) []string

// count adds the numbers of targets in each state, the labels, and the groups. A nil grouping has no groups.
func (of grouping) count(to *document.TargetPage, all []entry, q TargetQuery) {
	groups, labels := map[string]*document.TargetGroup{}, map[string]bool{}
	to.States = map[document.State]int{}
	for _, e := range all {
		to.States[e.state]++
		for name := range e.Labels {
			labels[name] = true
		}
		if q.State != "" && e.state != q.State || of == nil {
			continue
		}
		for _, name := range of(e) {
			g := groups[name]
			if g == nil {
				g = &document.TargetGroup{Name: name, States: map[document.State]int{}}
				groups[name] = g
			}
			g.Total++
			g.States[e.state]++
		}
	}
	to.Labels = slices.Sorted(maps.Keys(labels))
	for _, g := range groups {
		to.Groups = append(to.Groups, *g)
	}
	slices.SortFunc(to.Groups, func(a, b document.TargetGroup) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	to.MoreGroups = max(0, len(to.Groups)-MaxGroups)
	to.Groups = to.Groups[:len(to.Groups)-to.MoreGroups]
}

// newGrouping returns a grouping for its name. lists are the modules of each list of an assignment, and scopes the
// scopes of each target, by its name.
func newGrouping(by string, lists map[int64][]string, scopes map[string][]string) (grouping, error) {
	one := make([]string, 1)
	alone := func(name string) []string {
		one[0] = name
		return one
	}
	if label, ok := strings.CutPrefix(by, "label:"); ok {
		return func(e entry) []string { return alone(e.Labels[label]) }, nil
	}
	switch by {
	case "all":
		return nil, nil
	case "fleet":
		return func(e entry) []string { return alone(e.Fleet) }, nil
	case "scope":
		return func(e entry) []string {
			if all := scopes[e.Name]; len(all) > 0 {
				return all
			}
			return alone("")
		}, nil
	case "module":
		return func(e entry) []string {
			if all := lists[e.list]; len(all) > 0 {
				return all
			}
			return alone("")
		}, nil
	}
	return nil, queryError(fmt.Errorf("cannot group by %.80q: use all, fleet, module, scope or label:NAME", by))
}
