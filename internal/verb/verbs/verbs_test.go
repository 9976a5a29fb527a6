package verbs_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// TestEveryVerbIsKnown: each verb of the language that owns an address acts in
// one of the two ways, and no other verb does.
func TestEveryVerbIsKnown(t *testing.T) {
	none := []step.Verb{step.Act, step.Wait, step.Check, step.Include}
	n := 0
	for _, schema := range step.Schemas() {
		v, ok := verbs.For(schema.Verb)
		if ok == slices.Contains(none, schema.Verb) {
			t.Errorf("%s: known %v", schema.Verb, ok)
		}
		if !ok {
			continue
		}
		n++
		_, paths := v.(verb.Pather)
		_, moves := v.(verb.Mover)
		if paths == moves {
			t.Errorf("%s changes a path: %v, and something else: %v", schema.Verb, paths, moves)
		}
	}
	if want := len(step.Schemas()) - len(none); n != want {
		t.Errorf("%d verbs own an address, want %d", n, want)
	}
	if v, ok := verbs.For("NONE"); ok || v != nil {
		t.Error("a verb that is none is known")
	}
}
