package agent

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/fleet"
)

// Each section has the addresses of its module, and in Behind the addresses of all modules that
// need it indirectly, even in a cycle.
func TestSectionsOfModules(t *testing.T) {
	needs := func(module string, of ...string) fleet.Assigned {
		as := fleet.Assigned{Module: module}
		for _, n := range of {
			as.Needs = append(as.Needs, fleet.Need{Module: n})
		}
		return as
	}
	o := owners{"file:/b": "a", "file:/a": "a", "file:/c": "b", "file:/d": "c", "file:/e": "", "file:/f": "x",
		"file:/g": "y"}
	got := o.sections(fleet.Assignment{Modules: []fleet.Assigned{needs("c", "b"), needs("b", "a"), needs("a"),
		needs("x", "y"), needs("y", "x")}})
	for i, want := range []struct {
		name          string
		addrs, behind []addr.Addr
	}{
		{"the top of the repository", []addr.Addr{"file:/e"}, nil},
		{"a", []addr.Addr{"file:/a", "file:/b"}, []addr.Addr{"file:/c", "file:/d"}},
		{"b", []addr.Addr{"file:/c"}, []addr.Addr{"file:/d"}},
		{"c", []addr.Addr{"file:/d"}, nil},
		{"x", []addr.Addr{"file:/f"}, []addr.Addr{"file:/g"}},
		{"y", []addr.Addr{"file:/g"}, []addr.Addr{"file:/f"}},
	} {
		if s := got[i]; s.Name != want.name || !slices.Equal(s.Addrs, want.addrs) ||
			!slices.Equal(s.Dependents, want.behind) {
			t.Errorf("%+v", s)
		}
	}
}
