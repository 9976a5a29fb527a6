package lang

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/schema"
)

// checkFact reports a name that no target can have as a fact. A dotted name leads
// into a map: "addresses.eth0" is an entry of the fact "addresses".
func (r *reports) checkFact(name string, at diag.Range) {
	head, _, _ := strings.Cut(name, ".")
	if known := schema.Facts(); !slices.Contains(known, head) {
		r.errorf(at, "Unknown fact", "No target has a fact %q.%s To list all facts, run: fettle facts", name, Suggest(name, known))
	}
}
