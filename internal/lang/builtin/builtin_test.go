package builtin_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/query"
)

// TestRows: every row can be called with its required parameters. Parameters become arguments of
// the command and never flags. Commands run only existing actions, with matching parameters.
func TestRows(t *testing.T) {
	given := func(params []query.Param) map[string]string {
		out := map[string]string{}
		for _, p := range params {
			out[p.Name] = "--evil"
		}
		return out
	}
	actions := map[string]builtin.Action{}
	var names []string
	for _, a := range builtin.Actions() {
		actions[a.Name] = a
		names = append(names, a.Name)
		if a.Doc == "" {
			t.Errorf("%s says nothing of itself", a.Name)
		}
		for _, argv := range a.Argv(func(p string) string { return given(a.Params)[p] }) {
			at := slices.Index(argv, "--evil")
			if len(argv) == 0 || at == 0 || at > 0 && !slices.Contains(argv[:at], "--") {
				t.Errorf("%s: %v takes its parameter as a flag", a.Name, argv)
			}
		}
	}
	for _, c := range builtin.Commands() {
		names = append(names, c.Name)
		parts := c.Run(func(p string) string { return given(c.Params)[p] })
		var called []string
		for _, p := range parts {
			called = append(called, p.Name)
			a, ok := actions[p.Action]
			if !ok {
				t.Errorf("%s runs %q, which is not built in", c.Name, p.Action)
			}
			if ds := query.CheckParams("the action", a.Name, a.Params, p.Params); ds.HasErrors() {
				t.Errorf("%s, %s: %v", c.Name, p.Name, ds)
			}
			if p.MaxFailed == "" {
				t.Errorf("%s, %s goes on whatever fails", c.Name, p.Name)
			}
		}
		if !slices.Equal(called, c.Parts) {
			t.Errorf("%s has the parts %v and says %v", c.Name, called, c.Parts)
		}
	}
	all := slices.Clone(names)
	slices.Sort(all)
	if len(slices.Compact(all)) != len(names) {
		t.Errorf("a name is there twice: %v", names)
	}
}
