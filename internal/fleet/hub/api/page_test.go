package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/route"
)

// TestPage compares the table of docs/api.md with the routes. -update writes it.
func TestPage(t *testing.T) {
	const page, begin, end = "../../../../docs/api.md",
		"<!-- routes: made by go test ./internal/fleet/hub/api -run TestPage -update -->\n", "<!-- end of routes -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has lost its marks %q and %q", page, begin, end)
	}
	var b strings.Builder
	b.WriteString("\n| request | right | purpose |\n|---|---|---|\n")
	for _, r := range route.All() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.Name(), r.Right, r.Does)
	}
	want := before + begin + b.String() + "\n" + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("docs/api.md does not show the routes. Run: go test ./internal/fleet/hub/api -run TestPage -update")
	}
}
