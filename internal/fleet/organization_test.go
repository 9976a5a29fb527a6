package fleet_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestOrganizationPaths: a path has up to 8 names of up to 64 letters, digits and dashes.
func TestOrganizationPaths(t *testing.T) {
	long := strings.Repeat("a", 64)
	for path, valid := range map[string]bool{
		"": true, "acme": true, "acme/search": true, "A-1/b2": true, long: true, "a/b/c/d/e/f/g/h": true,
		long + "a": false, "a/b/c/d/e/f/g/h/i": false, "/": false, "acme/": false, "/acme": false, "a//b": false,
		"-a": false, "a-": false, "a_b": false, "a.b": false, "a b": false, "a\n": false, "ä": false, "..": false,
		"a%2Fb": false, "*": false,
	} {
		if err := fleet.Organization(path).Check(); (err == nil) != valid {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestOrganizationContains: an organization contains itself and those below it, and none with only the same beginning.
func TestOrganizationContains(t *testing.T) {
	for _, c := range []struct {
		of, other fleet.Organization
		contains  bool
	}{
		{"", "", true}, {"", "acme", true}, {"acme", "", false}, {"acme", "acme", true}, {"acme", "acme/search", true},
		{"acme", "acme2", false}, {"acme", "acme-2", false}, {"acme/search", "acme", false}, {"acme", "Acme", false},
		{"acme/search", "acme/search2", false}, {"b", "acme/b", false},
	} {
		if c.of.Contains(c.other) != c.contains {
			t.Errorf("%q contains %q: %v", c.of, c.other, !c.contains)
		}
		common, ok := c.of.Common(c.other)
		if ok != (c.contains || c.other.Contains(c.of)) || ok && (!c.of.Contains(common) || !c.other.Contains(common)) {
			t.Errorf("%q and %q have %q in common: %v", c.of, c.other, common, ok)
		}
	}
}
