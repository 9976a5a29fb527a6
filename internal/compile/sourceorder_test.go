package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// sourceOrder compiles a module and returns the declared order of its states.
func sourceOrder(t *testing.T, text string) string {
	t.Helper()
	res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{
		"fettle.hcl": "target \"a\" {\n  module \"m\" {}\n}\n", "modules/m/m.hcl": text}), Target: "a"})
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, st := range res.States {
		if len(st.After) > 0 {
			out = append(out, st.ID+" after "+strings.Join(st.After, " "))
		}
	}
	slices.Sort(out)
	return strings.ReplaceAll(strings.Join(out, "\n"), "module.m.", "")
}

// many returns n directories in the block big.
func many(n int) string {
	var b strings.Builder
	b.WriteString("block \"big\" {\n  after = [directory.one]\n")
	for i := range n {
		fmt.Fprintf(&b, "  directory \"d%d\" { path = \"/srv/%02d\" }\n", i, i)
	}
	return b.String() + "}\n"
}

// TestSourceOrder: a result has the order of states that the source declares, and no derived order.
func TestSourceOrder(t *testing.T) {
	const one, two = "directory \"one\" { path = \"/one\" }\n", "directory \"two\" { path = \"/two\" }\n"
	for name, c := range map[string]struct{ text, want string }{
		"derived": {one + "directory \"in\" { path = \"/one/in\" }\n", ""},
		"after": {one + "directory \"two\" {\n  path  = \"/two\"\n  after = [directory.one]\n}\n",
			"directory.two after directory.one"},
		"before": {two + "directory \"one\" {\n  path   = \"/one\"\n  before = [directory.two]\n}\n",
			"directory.two after directory.one"},
		"reference": {one + "directory \"in\" { path = \"${directory.one.path}/in\" }\n", "directory.in after directory.one"},
		"block": {one + two + "block \"b\" {\n  after = [directory.one, directory.two]\n" +
			"  directory \"x\" { path = \"/x\" }\n  directory \"y\" { path = \"/y\" }\n}\n",
			"directory.x after directory.one directory.two\ndirectory.y after directory.one directory.two"},
		"large block": {one + many(9) + "directory \"last\" {\n  path  = \"/last\"\n  after = [block.big]\n}\n",
			"directory.d0 after directory.one\ndirectory.last after directory.d8"},
		"no steps": {one + "service \"s\" { after = [directory.one] }\n" +
			"directory \"two\" {\n  path  = \"/two\"\n  after = [service.s]\n}\n", "directory.two after directory.one"},
	} {
		if got := sourceOrder(t, c.text); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}
