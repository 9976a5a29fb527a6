package arch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fleetRow = regexp.MustCompile("(?m)^\\| `(fleet[a-z/]*)` \\|")

// TestFleetMap compares the map of the fleet packages in ARCHITECTURE.md with the packages, and
// the tests that it names with the declared tests.
func TestFleetMap(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, have []string
	for _, p := range loadProject(t) {
		if name := strings.TrimPrefix(p.path, "internal/"); name == "fleet" || strings.HasPrefix(name, "fleet/") {
			want = append(want, name)
		}
	}
	for _, m := range fleetRow.FindAllStringSubmatch(string(page), -1) {
		have = append(have, m[1])
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the map of the fleet packages in ARCHITECTURE.md has the rows\n%q, want, in this order,\n%q", have, want)
	}
	tests, err := declaredTests("../..")
	if err != nil {
		t.Fatal(err)
	}
	report(t, missingTests(string(page), tests))
}
