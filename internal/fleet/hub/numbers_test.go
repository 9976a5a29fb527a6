package hub

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDocumentedNumbers compares ports and retention in docs/fleet-operations.md with the
// defaults.
func TestDocumentedNumbers(t *testing.T) {
	page, err := os.ReadFile("../../../docs/fleet-operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for port, name := range map[int]string{DefaultAPI: "api", DefaultBus: "bus", DefaultCluster: "cluster"} {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\| .* \\| `%s` \\|$", port, name))
		if !row.Match(page) {
			t.Errorf("the page has no row with the port %d of %s", port, name)
		}
	}
	_, text, found := strings.Cut(string(page), "\"retention\": ")
	text, _, ends := strings.Cut(text, "\n")
	var shown, none Retention
	if err := json.Unmarshal([]byte(text), &shown); err != nil || !found || !ends {
		t.Fatalf("the page has no defaults of retention: %q %v", text, err)
	}
	if shown.content() != none.content() || shown.events() != none.events() || shown.jobs() != none.jobs() ||
		shown.log() != none.log() {
		t.Errorf("the page shows %s, and the defaults are %s, %s, %s and %d bytes", text, none.content(),
			none.events()/(24*time.Hour), none.jobs(), none.log().MaxBytes)
	}
}
