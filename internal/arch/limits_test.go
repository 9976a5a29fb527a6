package arch

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// holdLimits compares the measure of each place with the limit in a file, and lowers the limits in
// the file if the test runs with -update. The limit of a place that the file does not name is 0. It
// returns the places above their limits.
func holdLimits(t *testing.T, file string, found map[string]int) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := readLimits(file, text)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, lowerLimits(found, limits), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return aboveLimits(found, limits)
}

// aboveLimits returns the places whose measure is above their limit, sorted.
func aboveLimits(found, limits map[string]int) []string {
	above := map[string]bool{}
	for place, n := range found {
		above[place] = n > limits[place]
	}
	maps.DeleteFunc(above, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(above))
}

// readLimits reads lines with a place and its limit.
func readLimits(file string, text []byte) (map[string]int, error) {
	limits := map[string]int{}
	for line := range bytes.Lines(text) {
		place, number, ok := strings.Cut(strings.TrimSpace(string(line)), ": ")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: the line %q is not PLACE: NUMBER", file, line)
		}
		limits[place] = n
	}
	return limits, nil
}

// lowerLimits returns the new limits: the smaller of the old limit and the present measure. Places without
// a measure are left out.
func lowerLimits(found, limits map[string]int) []byte {
	var b bytes.Buffer
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if n := min(found[place], limits[place]); n > 0 {
			fmt.Fprintf(&b, "%s: %d\n", place, n)
		}
	}
	return b.Bytes()
}

// TestLimits: a place above its limit is found, a new place has the limit 0, and an update raises no
// limit.
func TestLimits(t *testing.T) {
	found, limits := map[string]int{"a.md": 2, "b.md": 2, "new.md": 1}, map[string]int{"a.md": 1, "b.md": 3, "gone.md": 4}
	if got := aboveLimits(found, limits); !slices.Equal(got, []string{"a.md", "new.md"}) {
		t.Errorf("above their limits are %q", got)
	}
	if got := string(lowerLimits(found, limits)); got != "a.md: 1\nb.md: 2\n" {
		t.Errorf("the new limits are\n%s", got)
	}
}
