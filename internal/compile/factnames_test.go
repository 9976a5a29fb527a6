package compile_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fact"
	"fettle.dev/fettle/internal/lang/schema"
)

// TestFactNames: the names that the language accepts are the names of the facts
// that targets observe.
func TestFactNames(t *testing.T) {
	var observed []string
	for _, f := range fact.All() {
		observed = append(observed, f.Name)
	}
	if !slices.Equal(observed, schema.Facts()) {
		t.Errorf("schema.Facts is %v; internal/fact observes %v", schema.Facts(), observed)
	}
}
