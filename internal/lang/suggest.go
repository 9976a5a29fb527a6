package lang

import (
	"slices"
	"strings"
)

// Suggest gives " Did you mean "x"?" for the nearest of the names that exist,
// or a list of them when they are few, or "".
func Suggest(given string, names []string) string {
	if near := Near(given, names); near != "" {
		return near
	}
	if len(names) > 0 && len(names) <= 8 {
		return " There is: " + strings.Join(slices.Sorted(slices.Values(names)), ", ") + "."
	}
	return ""
}

// Near gives " Did you mean "x"?" for the nearest of the names that exist, or "". It
// is for messages that list the names already.
func Near(given string, names []string) string {
	best, least := "", len(given)/3+2
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := distance(given, n, least); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return " Did you mean \"" + best + "\"?"
}

// distance is how many edits lead from one name to another, or limit when it is that or
// more. Two exchanged neighbours are one edit: the most frequent mistake in typing.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return min(row[len(b)], limit)
}

func abs(n int) int { return max(n, -n) }

// oneOf is a block in a sentence.
func oneOf(block string) string {
	switch block {
	case "expect", "output", "action":
		return "An " + block
	case "enrolled":
		return "An enrolled target"
	case "needs":
		return "A needs block"
	case "exported":
		return "An exported block"
	case "ssh":
		return "An ssh block"
	}
	return "A " + block
}
