package fleet_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

func TestPathsOfOrganizations(t *testing.T) {
	for o, want := range map[fleet.Organization]string{"": "[]", "a": "[a]", "a/b-c/d": "[a a/b-c a/b-c/d]"} {
		if got := fmt.Sprint(o.Path()); got != want {
			t.Errorf("%q: %s", o, got)
		}
		for _, path := range o.Path() {
			if !path.Contains(o) {
				t.Errorf("%q does not contain %q", path, o)
			}
		}
	}
}

func TestUpstream(t *testing.T) {
	all := []fleet.Limits{{Organization: "ab"}, {Organization: "a/b/c"}, {Organization: "a/b"}, {Organization: "a"}}
	var got []fleet.Organization
	for _, l := range fleet.Upstream(all, "a/b") {
		got = append(got, l.Organization)
	}
	if want := []fleet.Organization{"a", "a/b"}; !slices.Equal(got, want) || len(fleet.Upstream(all, "")) != 0 {
		t.Errorf("%v", got)
	}
}
