package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// unwanted are texts that have no place in what is finished. The expressions
// are written so that this file does not match them.
var unwanted = []struct {
	find *regexp.Regexp
	why  string
	only []string // endings of files that it is looked for in
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`),
		"finish it, or say in the change log what is not there", []string{".go", ".md", ".hcl", ".sh"}},
	{regexp.MustCompile(`(?i)not (yet )?imple` + `mented`), "finish it, or leave it out", []string{".go", ".md"}},
	{regexp.MustCompile(`\b(issue|bug) #` + `\d+`), "say what was wrong, not where it was reported",
		[]string{".go", ".md"}},
	{regexp.MustCompile(`\bpanic` + `\("`), "return an error", []string{".go"}},
	{regexp.MustCompile(`//no` + `lint|//lint:ig` + `nore`), "mend what the linter says, or change its settings for all",
		[]string{".go"}},
}

// wordsAllowed are files that may hold one of them.
var wordsAllowed = []allowed{}

// checkWords: what lands is finished.
func checkWords(dir string, exceptions []allowed, whole bool) []string {
	var broken []string
	needed := map[string]bool{}
	for _, ending := range []string{".go", ".md", ".hcl", ".sh"} {
		err := walk(dir, ending, func(name string, text []byte) {
			for i, line := range strings.Split(string(text), "\n") {
				for _, u := range unwanted {
					if m := u.find.FindString(line); m != "" && slices.Contains(u.only, ending) &&
						!excepted(exceptions, name, needed) {
						broken = append(broken, fmt.Sprintf("%s:%d: %q: %s", name, i+1, m, u.why))
					}
				}
			}
		})
		if err != nil {
			return []string{err.Error()}
		}
	}
	if whole {
		broken = append(broken, stale("words", exceptions, needed)...)
	}
	return broken
}
