package diag

import "slices"

// Nearest returns the name with the fewest edits from written, fewer than limit; "" if there is
// none. Among equal distances the first by bytes wins. It never returns written itself.
func Nearest(written string, names []string, limit int) string {
	best := ""
	for _, n := range slices.Sorted(slices.Values(names)) {
		if n == written {
			continue
		}
		if d := Distance(written, n, limit); d < limit {
			best, limit = n, d
		}
	}
	return best
}

// Distance returns the number of edits between two names, or limit if it is at least limit. Two
// exchanged neighbours are one edit: the most frequent typing error.
func Distance(a, b string, limit int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= limit {
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
