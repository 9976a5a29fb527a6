package step

import (
	"fmt"

	"github.com/agext/levenshtein"
)

// closest is the candidate nearest to what was written, "" when none is near
// enough to be meant. The first of equals wins.
func closest(written string, candidates []string) string {
	const longest = 256 // a longer word is no slip of the pen
	if written == "" || len(written) > longest {
		return ""
	}
	best, bestDistance := "", max(1, min(3, len(written)/3))+1
	for _, c := range candidates {
		if c == written || len(c) > longest {
			continue
		}
		if max(len(c), len(written))-min(len(c), len(written)) > 4*bestDistance {
			continue // too far even if every character had four bytes
		}
		if d := levenshtein.Distance(written, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is the question with a blank before it, or nothing.
func didYouMean(written string, candidates []string) string {
	return question(closest(written, candidates))
}

func question(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", near)
}
