package content

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestDocumentedLimits compares the limits in docs/fleet-security.md with the constants.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/fleet-security.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	for _, want := range []string{
		fmt.Sprintf("an assignment %d MiB, a proof %d MiB, a binary %d MiB,", fleet.MaxAssignment>>20, MaxProof>>20,
			fleet.MaxBinary>>20),
		fmt.Sprintf("A bundle has at most %d GiB, and %d,000 files of %d MiB.", MaxBundle>>30, MaxFiles/1000, MaxFile>>20),
		fmt.Sprintf("The content store of an agent contains at most %d GiB.", DefaultLimit>>30),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain the limit %q", want)
		}
	}
}
