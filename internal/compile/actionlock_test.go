package compile_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// TestActionLocks: an action has the locks that its parameters select. An unknown lock is an error.
func TestActionLocks(t *testing.T) {
	r := compile.Open(repo.MapTree(map[string]string{
		"fettle.hcl": "lock \"a\" {}\nlock \"b\" {}\ntarget \"h\" { modules = [\"m\"] }\n",
		"modules/m/module.hcl": `
action "dump" {
  param "locks" {
    type    = list(string)
    default = ["b", "a", "b"]
  }
  command = ["dump"]
  lock    = param.locks
}
`}))
	for given, want := range map[string]string{"": "a,b", `["b"]`: "b", "[]": "", `["c"]`: "Unknown lock"} {
		params := map[string]string{}
		if given != "" {
			params["locks"] = given
		}
		call, ds := r.CallAction(compile.Input{Target: "h"}, "dump", params, false)
		got := strings.Join(call.Locks, ",")
		if ds.HasErrors() {
			got = ds[0].Summary
		}
		if got != want || !slices.IsSorted(call.Locks) {
			t.Errorf("%q: %s, want %s: %s", given, got, want, shown(ds))
		}
	}
}
