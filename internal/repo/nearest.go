package repo

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// nearest returns up to n names that resemble a mistyped word, best first.
func nearest(word string, names []string, n int) []string {
	type near struct {
		name string
		cost int
	}
	limit := max(min(2, len(word)/2), len(word)/3)
	var found []near
	for _, name := range names {
		cost := diag.Distance(strings.ToLower(word), strings.ToLower(name), limit+1)
		if strings.HasPrefix(name, word) && word != "" {
			cost = min(cost, limit)
		}
		if cost <= limit {
			found = append(found, near{name, cost})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.cost - b.cost })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}
