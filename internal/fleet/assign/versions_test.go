package assign_test

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
)

// VersionsOf combines the uses of all targets by bundle, and leaves out constraints within one bundle.
func TestVersionsOf(t *testing.T) {
	need := func(dir, constraint string) query.Need {
		return query.Need{Name: dir, Directory: dir, Level: "availability", Version: constraint}
	}
	got := assign.VersionsOf([]query.Target{
		{Name: "a", Uses: []query.Use{
			{Directory: "modules/web", Version: "2.0.0", Needs: []query.Need{need("modules/db", ">= 1"), need("modules/x", "")}},
			{Directory: "modules/db/old", Version: "0.9"},
			{Directory: "modules/db", Version: "1.4.0", Needs: []query.Need{need("modules/db/old", "< 1")}},
			{Directory: "modules/x"},
			{Directory: "own", Version: "3.0.0", Needs: []query.Need{need("modules/db", "1.4")}},
		}},
		{Name: "b", Uses: []query.Use{
			{Directory: "modules/web", Version: "2.0.0", Needs: []query.Need{need("modules/mysql", ">= 1"), need("own", "3")}},
		}},
	})
	want := map[string]assign.Versioned{
		"modules/web": {Versions: map[string]string{"modules/web": "2.0.0"}, Requires: []assign.Requirement{
			{By: "modules/web", Module: "modules/db", Version: ">= 1"},
			{By: "modules/web", Module: "modules/mysql", Version: ">= 1"}}},
		"modules/db": {Versions: map[string]string{"modules/db": "1.4.0", "modules/db/old": "0.9"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// An unknown bundle requires nothing, and fulfills no constraint.
func TestUnmetVersions(t *testing.T) {
	part := func(module, digest string) fleet.Assigned {
		return fleet.Assigned{Module: module, Bundle: fleet.Bundle{Digest: digest}}
	}
	v := assign.Versions{}
	v.Learn(assign.Contents{Bundles: map[string]fleet.Bundle{"modules/web": {Digest: "w"}, "modules/db": {Digest: "d"},
		"modules/x": {Digest: "x"}}, Versions: map[string]assign.Versioned{
		"modules/web": {Requires: []assign.Requirement{{By: "modules/web/a", Module: "modules/db", Version: ">= 1.4"},
			{By: "modules/web", Module: "modules/db/old", Version: "< 1"}}},
		"modules/db": {Versions: map[string]string{"modules/db": "1.4.0"}}}})
	for _, c := range []struct{ first, second, want string }{
		{"w", "d", "web needs modules/db/old < 1, and the content of this module has no version"},
		{"w", "?", "modules/web/a needs db >= 1.4, and the version of the present content is not known"},
		{"?", "d", ""},
	} {
		if got := v.Unmet(part("modules/web", c.first), part("modules/db", c.second)); got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.first, c.second, got, c.want)
		}
	}
	if got := v.Unmet(part("modules/web", "w"), part("modules/x", "x")); got != "" {
		t.Error(got)
	}
}
