package arch

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/step"
)

// TestAddressKinds: a new kind of address was considered at each place that decides by the kind, or by the verb, and
// has a default for the others.
func TestAddressKinds(t *testing.T) {
	const considered = 13
	if n := len(addr.Kinds()); n != considered {
		t.Errorf("%d kinds of addresses, and %d when these places were last checked: consider the new kind at each of them, "+
			"and then change the number in this test", n, considered)
	}
	for place, decision := range map[string]string{
		"apply/leftover.go":            "how long the program of an interrupted change can take to finish",
		"executor/local/remembered.go": "which files show that an object did not change since the last look",
		"fleet/agent/managed.go":       "what an agent watches for drift",
		"plan/lockout.go":              "whether a change can end the access to the host",
		"plan/near.go":                 "which change would provide a missing object, for a suggestion",
		"plan/provide.go":              "which later steps a change makes possible",
		"step/uses.go":                 "which other objects a step needs",
		"supportbundle/masked.go":      "which values are not confidential",
		"ui/render/grouped.go":         "the plural of the kind in the summary of a plan",
	} {
		if _, err := os.Stat("../" + place); err != nil {
			t.Errorf("the decision %q has moved: %v", decision, err)
		}
		if len(addr.Kinds()) != considered {
			t.Errorf("internal/%s: %s", place, decision)
		}
	}
}

// TestKilledVerbs: the campaign that kills every verb has each verb that does not need an init or packages.
func TestKilledVerbs(t *testing.T) {
	const file = "../../test/crash/verbs_test.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	others := []step.Verb{step.Pkg, step.Unit, step.Wait, step.Include} // the last two change nothing
	for _, schema := range step.Schemas() {
		has := regexp.MustCompile("(?m)^(const verbs. = `)?" + string(schema.Verb) + " ").Match(text)
		if has == slices.Contains(others, schema.Verb) {
			t.Errorf("the lists of %s have the verb %s: %t", file, schema.Verb, has)
		}
	}
}
