package step

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
)

// closest is the candidate nearest to the written word, "" if none is similar. Of equals
// it is the first by byte.
func closest(written string, candidates []string) string {
	const longest = 256 // a longer word is not a typing error
	if written == "" || len(written) > longest {
		return ""
	}
	return diag.Nearest(written, candidates, max(1, min(3, len(written)/3))+1)
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
