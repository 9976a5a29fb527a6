package compile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// module is a module with a state that depends on the target.
const portModule = "variable \"port\" { type = number }\nfile \"/etc/port\" {\n" +
	"  content = \"${target.name} ${var.port} ${join(\",\", [for k, v in target.labels : \"${k}=${v}\"])}\\n\"\n}\n"

// generated returns the targets of a repository with the given files, and its diagnostics as text.
func generated(t *testing.T, files map[string]string) ([]string, string) {
	t.Helper()
	all := maps.Clone(files)
	all["modules/web/web.hcl"] = portModule
	targets, ds := compile.Targets(repo.MapTree(all))
	var out []string
	for _, x := range targets {
		text := fmt.Sprintf("%s %v %v %v", x.Name, x.Labels, x.Roles, x.Modules)
		if x.Element != nil {
			text += fmt.Sprintf(" %s[%s]", x.Element.Block, x.Element.Key)
		}
		out = append(out, text)
	}
	return out, shown(ds)
}

// Targets come from data files in each format, from directories, lookups, products and merged maps.
func TestTargetForEach(t *testing.T) {
	lookup := "lookup \"cmdb\" { url = \"https://example.org/cmdb\" }\n"
	for name, c := range map[string]struct {
		text, file, content string
		want                []string
	}{
		"yaml": {`target "web" {
  for_each = yamldecode(file("inventory.yaml"))
  name     = "web-${each.key}"
  labels   = { env = each.value.env }
  modules  = ["web"]
  vars     = { port = each.value.port }
}`, "inventory.yaml", "b: {env: prod, port: 81}\na: {env: test, port: 80}\n",
			[]string{"web-a map[env:test] [] [modules/web] web[a]", "web-b map[env:prod] [] [modules/web] web[b]"}},
		"csv": {`target "web" {
  for_each = { for row in csvdecode(file("inventory.csv")) : row.name => row }
  labels   = { env = each.value.env }
}`, "inventory.csv", "name,env\nb,prod\na,test\n",
			[]string{"a map[env:test] [] [] web[a]", "b map[env:prod] [] [] web[b]"}},
		"set": {`target "web" { for_each = toset(["y", "x"]) }`, "", "",
			[]string{"x map[] [] [] web[x]", "y map[] [] [] web[y]"}},
		"directories": {`target "site" { for_each = toset([for f in fileset("sites", "*/site.yaml") : dirname(f)]) }`,
			"sites/ber/site.yaml", "x: 1\n", []string{"ber map[] [] [] site[ber]"}},
		"product": {`target "n" {
  for_each = { for p in setproduct(["ber", "ams"], ["1", "2"]) : join("-", p) => p }
  labels   = { site = each.value[0] }
}`, "", "", []string{"ams-1 map[site:ams] [] [] n[ams-1]", "ams-2 map[site:ams] [] [] n[ams-2]",
			"ber-1 map[site:ber] [] [] n[ber-1]", "ber-2 map[site:ber] [] [] n[ber-2]"}},
		"merge": {`target "n" {
  for_each = merge({ a = "1", b = "2" }, jsondecode(file("more.json")))
  labels   = { n = each.value }
}`, "more.json", `{"b": "3", "c": "4"}`,
			[]string{"a map[n:1] [] [] n[a]", "b map[n:3] [] [] n[b]", "c map[n:4] [] [] n[c]"}},
		"values of the data": {`role "r" {}
target "n" {
  for_each = yamldecode(file("inventory.yaml"))
  labels   = each.value.labels
  roles    = each.value.roles
  modules  = each.value.modules
  vars     = each.value.vars
}`, "inventory.yaml", "a: {labels: {x: y}, roles: [r], modules: [web], vars: {port: 1}}\n",
			[]string{"a map[x:y] [r] [modules/web] n[a]"}},
		"lookup": {lookup + `target "n" {
  for_each = { for h in lookup.cmdb : h.name => h }
  labels   = { env = each.value.env }
}`, "lookups/cmdb.json", snapshotOf(t, "cmdb", `[{"name":"a","env":"x"}]`), []string{"a map[env:x] [] [] n[a]"}},
		"with written targets": {`target "m" {}
target "n" { for_each = toset(["a", "n"]) }
target "z" {}`, "", "", []string{"m map[] [] []", "a map[] [] [] n[a]", "n map[] [] [] n[n]", "z map[] [] []"}},
		"none": {"target \"n\" {\n  for_each = {}\n  at_least = 0\n}", "", "", nil},
	} {
		files := map[string]string{"fettle.hcl": c.text + "\n"}
		if c.file != "" {
			files[c.file] = c.content
		}
		if got, ds := generated(t, files); ds != "" || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q; %s", name, got, c.want, ds)
		}
	}
}

// In YAML, for_each is an expression, as in states.
func TestTargetForEachInYAML(t *testing.T) {
	got, ds := generated(t, map[string]string{"inventory.yaml": "a: {env: prod}\n",
		"fettle.yaml": "target:\n  n:\n    for_each: yamldecode(file(\"inventory.yaml\"))\n" +
			"    name: web-${each.key}\n    labels: ${each.value}\n"})
	if want := "[web-a map[env:prod] [] [] n[a]]"; ds != "" || fmt.Sprint(got) != want {
		t.Errorf("%v, not %s; %s", got, want, ds)
	}
}

// Wrong elements are errors with their places.
func TestTargetForEachErrors(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/generate/errors.txtar")
	if err != nil || len(archive.Files) < 20 {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		first, _, _ := strings.Cut(string(f.Data), "\n")
		files := map[string]string{"fettle.hcl": string(f.Data)}
		_, ds := generated(t, files)
		if ds == "" {
			_, errs := compile.Compile(compile.Input{Tree: repo.MapTree(files)})
			ds = shown(errs)
		}
		if want := strings.TrimPrefix(first, "# "); !strings.Contains(ds, want) {
			t.Errorf("%s: %s\nnot %q", f.Name, ds, want)
		}
	}
}

// A target block with for_each has the same lists as targets that are written one by one, alone and together.
func TestTargetForEachIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		keys := rapid.SliceOfNDistinct(names, 1, 6, rapid.ID).Draw(t, "keys")
		var data, written strings.Builder
		for i, k := range keys {
			env, port := rapid.SampledFrom([]string{"prod", "test"}).Draw(t, "env"), 80+i
			fmt.Fprintf(&data, "%s: {env: %s, port: %d}\n", k, env, port)
			fmt.Fprintf(&written, "target \"n-%s\" {\n  labels = { env = %q }\n", k, env)
			fmt.Fprintf(&written, "  modules = [\"web\"]\n  vars = { port = %d }\n}\n", port)
		}
		common := "target_group \"prod\" {\n  labels = { env = \"prod\" }\n  policy { on_failure = \"undo\" }\n}\n"
		made := repo.MapTree(map[string]string{"modules/web/web.hcl": portModule, "inventory.yaml": data.String(),
			"fettle.hcl": common + "target \"n\" {\n  for_each = yamldecode(file(\"inventory.yaml\"))\n" +
				"  name = \"n-${each.key}\"\n  labels = { env = each.value.env }\n  modules = [\"web\"]\n" +
				"  vars = { port = each.value.port }\n}\n"})
		plain := repo.MapTree(map[string]string{"modules/web/web.hcl": portModule, "fettle.hcl": common + written.String()})
		var all []string
		for _, k := range keys {
			all = append(all, "n-"+k)
			var lists [2]string
			for i, tree := range []repo.Tree{made, plain} {
				res, ds := compile.Compile(compile.Input{Tree: tree, Target: "n-" + k})
				lists[i] = res.List.String() + shown(ds) + fmt.Sprint(res.Policy)
			}
			if lists[0] != lists[1] {
				t.Fatalf("%s is made as\n%s\nand written as\n%s", k, lists[0], lists[1])
			}
		}
		sameLists(t, compile.Input{Tree: made}, all)
	})
}

// explain var shows the element of each value of a generated target.
func TestTargetForEachVariables(t *testing.T) {
	tree := repo.MapTree(map[string]string{"modules/web/web.hcl": portModule,
		"inventory.yaml": "a: {port: 1}\nb: {port: 2}\n",
		"fettle.hcl": "vars = { port = 9 }\ntarget \"n\" {\n  for_each = yamldecode(file(\"inventory.yaml\"))\n" +
			"  modules = [\"web\"]\n  vars = { port = each.value.port }\n}\n"})
	found, ds := compile.Open(tree).Explain(compile.Input{Tree: tree, Target: "b"}, "port")
	if len(ds) > 0 || len(found) != 1 || found[0].Value != "2" {
		t.Fatalf("%+v %v", found, ds)
	}
	top := found[0].Layers[len(found[0].Layers)-1]
	if top.Name != `target, element "b"` || top.Value != "2" || top.Range.Start.Line != 5 {
		t.Errorf("%+v", top)
	}
	res, ds := compile.Compile(compile.Input{Tree: tree, Target: "b"})
	if len(ds) > 0 || !slices.Contains(res.Files, "inventory.yaml") {
		t.Errorf("%v %v", res.Files, ds)
	}
}

// A target that no longer has an element does not exist; a source with fewer elements than at_least is an error.
func TestTargetForEachShrinks(t *testing.T) {
	text := "target \"n\" {\n  for_each = yamldecode(file(\"inventory.yaml\"))\n  at_least = 2\n}\n"
	for data, want := range map[string]string{"{a: 1, b: 2}": "[a b]", "{a: 1}": "[]", "{}": "[]", "": "[]"} {
		targets, ds := compile.Targets(repo.MapTree(map[string]string{"fettle.hcl": text, "inventory.yaml": data}))
		var names []string
		for _, x := range targets {
			names = append(names, x.Name)
		}
		if fmt.Sprint(names) != want || ds.HasErrors() != (want == "[]") {
			t.Errorf("%q: %v %v", data, names, ds)
		}
	}
}
