package child_test

import (
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// The results of many targets equal the local results, with their lists and without. An error that
// all of them share is reported once.
func TestFleet(t *testing.T) {
	in := compile.Input{Tree: repo.MapTree(map[string]string{
		"fettle.hcl":      "target \"a\" {\n  modules = [\"m\"]\n}\ntarget \"b\" {\n  modules = [\"m\"]\n  vars = { v = \"b\" }\n}\ntarget \"c\" {\n  modules = [\"m\"]\n  vars = { v = \"bad\" }\n}\ntarget \"d\" {\n  modules = [\"m\"]\n  vars = { v = \"bad\" }\n}\n",
		"modules/m/a.hcl": "variable \"v\" {\n  default = \"a\"\n  validation {\n    condition = var.v != \"bad\"\n    error_message = \"it is bad\"\n  }\n}\nfile \"/srv/x\" { content = \"${target.name} ${var.v}\" }\npackage \"nginx\" {}\n",
	})}
	c := connect(t, in.Tree)
	for range 2 {
		for _, lists := range []bool{false, true} {
			got, ds, err := c.Fleet(in, []string{"b", "c", "a", "d"}, lists)
			if err != nil || len(ds) != 1 || len(got) != 2 {
				t.Fatalf("%v %v %v", got, ds, err)
			}
			for i, name := range []string{"b", "a"} {
				in.Target = name
				want, _ := compile.Compile(in)
				if got[i].Target != name || got[i].Steps != len(want.List) {
					t.Errorf("%+v, want %d steps of %s", got[i], len(want.List), name)
				}
				if lists && got[i].List.String() != want.List.String() || !lists && got[i].Digest != want.List.Digest() {
					t.Errorf("%s has %s, want %s", name, got[i].List, want.List)
				}
			}
		}
	}
}
