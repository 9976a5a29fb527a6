package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Limits of the number of names in the output; the JSON document contains all names.
const (
	mostPatterns = 6
	mostRanges   = 4
)

var firstNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^0-9]*)([0-9]{1,9})(.*)$`) })

// Folded lists names in few words: "12 targets: web[1-6,9].example.org, …".
func Folded(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	numbers := map[string][]int{}
	var patterns []string
	for _, name := range names {
		pattern, n := name, 0
		if m := firstNumber().FindStringSubmatch(name); m != nil && (m[2] == "0" || m[2][0] != '0') {
			if _, err := fmt.Sscanf(m[2], "%d", &n); err == nil {
				pattern = m[1] + "[*]" + m[3]
			}
		}
		if numbers[pattern] == nil {
			patterns = append(patterns, pattern)
		}
		numbers[pattern] = append(numbers[pattern], n)
	}
	var words []string
	for _, p := range patterns[:min(len(patterns), mostPatterns)] {
		slices.Sort(numbers[p])
		words = append(words, strings.Replace(p, "[*]", ranges(numbers[p]), 1))
	}
	if len(patterns) > mostPatterns {
		words = append(words, "…")
	}
	return fmt.Sprintf("%d targets: %s", len(names), strings.Join(words, ", "))
}

// ranges writes sorted numbers as [1-6,9].
func ranges(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprint(numbers[0])
	}
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if len(out) == mostRanges {
			out = append(out, "…")
			break
		}
		if word := fmt.Sprint(numbers[i]); i == j {
			out = append(out, word)
		} else {
			out = append(out, fmt.Sprintf("%s-%d", word, numbers[j]))
		}
		i = j + 1
	}
	return "[" + strings.Join(out, ",") + "]"
}
