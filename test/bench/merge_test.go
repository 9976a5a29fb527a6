package main

import (
	"strings"
	"testing"
)

// TestSections: a report comes together again from its chapters, and each is found by
// its title.
func TestSections(t *testing.T) {
	page := "# Performance\n\nintro\n\n## First apply\n\na\n\n## Start and end\n\nb\n\n## Commands of each tool\n\n- x\n\n## Environment\n\n- y\n"
	all := sections(page)
	var again strings.Builder
	for _, s := range all {
		again.WriteString(s.text)
	}
	if again.String() != page || len(all) != 5 {
		t.Fatalf("%d chapters:\n%s", len(all), again.String())
	}
	for w, want := range map[work]int{firstApply: 2, validateAll: 2, startEnd: 3, repair: 2} {
		if got := placeOf(all, w); got != want {
			t.Errorf("%s goes to place %d, want %d", w, got, want)
		}
	}
	if got := placeOf(all[:1], startEnd); got != 1 {
		t.Errorf("at the end of a page without chapters: %d", got)
	}
}
