package compile_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// siteModule is a module with a state, a command with a name of its own, and an output.
const siteModule = `variable "port" { type = number }
output "address" { value = "localhost:${var.port}" }
file "conf" {
  path    = "/etc/site-${var.port}"
  content = "${target.name} ${var.port}\n"
}
exec "setup" { command = ["/bin/setup", tostring(var.port)] }
`

// siteTree returns a repository with the module site and other files.
func siteTree(files map[string]string) repo.Tree {
	all := map[string]string{"modules/site/site.hcl": siteModule,
		"own/own.hcl": "variable \"name\" {}\nfile \"conf\" {\n  path = \"/etc/own\"\n  content = var.name\n}\n"}
	maps.Copy(all, files)
	return repo.MapTree(all)
}

// A module block with for_each makes a module for each element, with its own variables and names. Other states can
// refer to one of them.
func TestModuleForEach(t *testing.T) {
	tree := siteTree(map[string]string{"sites.yaml": "blog: {port: 81}\nshop: {port: 80}\n", "fettle.hcl": `target "web1" {
  module "site" {
    for_each = yamldecode(file("sites.yaml"))
    vars     = { port = each.value.port }
  }
}
file "/etc/shop" {
  content = module.site["shop"].address
}
file "/etc/after" {
  content = "x"
  after   = [module.site["blog"]]
}
`})
	res, ds := compile.Compile(compile.Input{Tree: tree})
	if len(ds) > 0 {
		t.Fatal(ds)
	}
	var states []string
	for _, st := range res.States {
		states = append(states, st.ID)
	}
	got := strings.Join(states, " ")
	for _, want := range []string{`module.site["blog"].file.conf`, `module.site["shop"].file.conf`,
		`module.site["shop"].exec.setup`} {
		if !strings.Contains(got, want) {
			t.Errorf("no state %s in %s", want, got)
		}
	}
	list := res.List.String()
	for _, want := range []string{" /etc/site-80\n", " /etc/site-81\n", `EXEC "site[\"shop\"].setup" /bin/setup 80`,
		`EXEC "site[\"blog\"].setup" /bin/setup 81`} {
		if strings.Count(list, want) != 1 {
			t.Errorf("%q is not once in\n%s", want, list)
		}
	}
	if strings.Index(list, "/etc/site-80") > strings.Index(list, "/etc/shop") ||
		strings.Index(list, "/bin/setup 81") > strings.Index(list, "/etc/after") {
		t.Errorf("wrong order:\n%s", list)
	}
	found, ds := compile.Open(tree).Explain(compile.Input{Tree: tree}, "port")
	if len(ds) > 0 || len(found) != 2 || found[0].Module != `module site["blog"]` || found[0].Value != "81" ||
		found[0].Layers[0].Name != `module block, element "blog"` {
		t.Errorf("%+v %v", found, ds)
	}
}

// A reference without a key means all modules of a block: a map of their outputs, or their states. A block without
// elements is an empty map.
func TestAllModulesOfABlock(t *testing.T) {
	text := func(elements string) string {
		return "target \"web1\" {\n  modules = [\"proxy\"]\n  module \"site\" {\n    for_each = " + elements + `
    vars     = { port = each.value }
  }
}
exec "show" {
  command = ["show", join(" ", [for k, m in module.site : "${k}=${m.address}"]), tostring(length(module.site))]
}
exec "each" {
  for_each = module.site
  name     = "each ${each.key}"
  command  = ["each", module.site[each.key].address]
}
exec "first" {
  command = ["first"]
  before  = [module.site]
}
exec "told" {
  command = ["told"]
  lazy    = true
  listen  = [module.site]
}
`
	}
	for elements, want := range map[string]string{
		"{ shop = 80, blog = 81 }": "EXEC first first\nEXEC \"site[\\\"blog\\\"].setup\" /bin/setup 81\n" +
			"EXEC \"site[\\\"shop\\\"].setup\" /bin/setup 80\n" +
			"EXEC show show \"blog=localhost:81 shop=localhost:80\" 2\nEXEC \"each blog\" each localhost:81\n" +
			"EXEC \"each shop\" each localhost:80\nEXEC after after \"blog shop\"\n" +
			"ACT run told told on=file:/etc/site-81 on=\"exec:site[\\\"blog\\\"].setup\" on=file:/etc/site-80 " +
			"on=\"exec:site[\\\"shop\\\"].setup\"\n",
		"{}": "EXEC show show \"\" 0\nEXEC first first\nEXEC after after \"\"\n",
	} {
		tree := siteTree(map[string]string{"fettle.hcl": text(elements), "modules/proxy/p.hcl": "exec \"after\" {\n" +
			"  command = [\"after\", join(\" \", keys(module.site))]\n  after = [module.site]\n}\n"})
		res, ds := compile.Compile(compile.Input{Tree: tree})
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		var lines []string
		for _, s := range res.List {
			if s.Blob() == "" {
				lines = append(lines, s.String()+"\n")
			}
		}
		if got := strings.Join(lines, ""); got != want {
			t.Errorf("%s:\n%s\nnot\n%s", elements, got, want)
		}
	}
}

// Levels add elements, and variables to the elements of lower levels. A target made by for_each gives its own elements.
func TestModuleForEachOfLevels(t *testing.T) {
	tree := siteTree(map[string]string{"fettle.hcl": `role "r" {
  module "site" {
    for_each = { a = 1, b = 2 }
    vars     = { port = each.value }
  }
}
target "x" {
  for_each = { t1 = { b = 9, c = 3 }, t2 = {} }
  roles    = ["r"]
  module "site" {
    for_each = each.value
    vars     = { port = each.value }
  }
}
`})
	for target, want := range map[string]string{"t1": "1 9 3", "t2": "1 2"} {
		res, ds := compile.Compile(compile.Input{Tree: tree, Target: target})
		var ports []string
		for _, s := range res.List {
			if s.Path() != "" {
				ports = append(ports, strings.TrimPrefix(s.Path(), "/etc/site-"))
			}
		}
		if got := strings.Join(ports, " "); len(ds) > 0 || got != want {
			t.Errorf("%s: %s, not %s; %v", target, got, want, ds)
		}
	}
	sameLists(t, compile.Input{Tree: tree}, []string{"t1", "t2", "t1"})
}

// Wrong module blocks with for_each are errors with their places.
func TestModuleForEachErrors(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/generate/modules.txtar")
	if err != nil || len(archive.Files) < 8 {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		first, _, _ := strings.Cut(string(f.Data), "\n")
		tree := siteTree(map[string]string{"fettle.hcl": string(f.Data)})
		_, ds := compile.Targets(tree)
		if len(ds) == 0 {
			_, ds = compile.Compile(compile.Input{Tree: tree})
		}
		if want := strings.TrimPrefix(first, "# "); !strings.Contains(shown(ds), want) {
			t.Errorf("%s: %s\nnot %q", f.Name, shown(ds), want)
		}
	}
}

// Modules made by for_each have the same steps as blocks that are written one by one, for all targets of a group,
// alone and together.
func TestModuleForEachIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		keys := rapid.SliceOfNDistinct(names, 0, 4, rapid.ID).Draw(t, "keys")
		level := rapid.SampledFrom([]string{"target_group \"g\" {\n  targets = [\"*\"]\n", "role \"g\" {\n"}).Draw(t, "level")
		var data, written strings.Builder
		for i, k := range keys {
			fmt.Fprintf(&data, "    %s = %d\n", k, 80+i)
			fmt.Fprintf(&written, "  module \"site-%s\" {\n    source = \"modules/site\"\n", k)
			fmt.Fprintf(&written, "    vars = { port = %d }\n  }\n", 80+i)
		}
		targets := "}\ntarget \"t1\" { roles = [\"g\"] }\ntarget \"t2\" { roles = [\"g\"] }\n"
		if strings.HasPrefix(level, "target_group") {
			targets = "}\ntarget \"t1\" {}\ntarget \"t2\" {}\n"
		}
		made := siteTree(map[string]string{"fettle.hcl": level + "  module \"site\" {\n    for_each = {\n" + data.String() +
			"    }\n    vars = { port = each.value }\n  }\n" + targets})
		plain := siteTree(map[string]string{"fettle.hcl": level + written.String() + targets})
		for _, target := range []string{"t1", "t2"} {
			var count [2]int
			for i, tree := range []repo.Tree{made, plain} {
				res, ds := compile.Compile(compile.Input{Tree: tree, Target: target})
				if len(ds) > 0 {
					t.Fatal(ds)
				}
				for _, s := range res.List {
					count[i]++
					if s.Path() != "" && !strings.HasPrefix(s.Path(), "/etc/site-8") {
						t.Fatal(s)
					}
				}
			}
			if count[0] != count[1] || count[0] != 2*len(keys) {
				t.Fatalf("%d and %d steps for %d keys", count[0], count[1], len(keys))
			}
		}
		sameLists(t, compile.Input{Tree: made}, []string{"t1", "t2"})
	})
}

// Another element changes no step of the other modules, and a removed element removes only its own steps.
func TestModuleForEachIsStable(t *testing.T) {
	lists := map[string]map[string]bool{}
	for _, data := range []string{"{b: 2}", "{a: 1, b: 2}", "{a: 1, b: 2, c: 3}"} {
		tree := siteTree(map[string]string{"sites.yaml": data,
			"fettle.hcl": "target \"t\" {\n  module \"site\" {\n" +
				"    for_each = yamldecode(file(\"sites.yaml\"))\n    vars = { port = each.value }\n  }\n}\n"})
		res, ds := compile.Compile(compile.Input{Tree: tree})
		if len(ds) > 0 {
			t.Fatal(ds)
		}
		lists[data] = map[string]bool{}
		for _, s := range res.List {
			lists[data][s.String()] = true
		}
	}
	for less, more := range map[string]string{"{b: 2}": "{a: 1, b: 2}", "{a: 1, b: 2}": "{a: 1, b: 2, c: 3}"} {
		for s := range lists[less] {
			if !lists[more][s] {
				t.Errorf("with %s, the step %s is not in the list of %s", less, s, more)
			}
		}
		if len(lists[more]) != len(lists[less])+2 {
			t.Errorf("%d and %d steps", len(lists[less]), len(lists[more]))
		}
	}
}

// An instance has its own exported values and actions, and needs of a module mean all instances.
func TestModuleForEachOutside(t *testing.T) {
	tree := repo.MapTree(map[string]string{"modules/site/site.hcl": "variable \"port\" {}\noutput \"at\" {\n" +
		"  value = \"p${var.port}\"\n  type = string\n  exported = true\n}\n" +
		"action \"drain\" { command = [\"/bin/drain\", var.port] }\n" +
		"file \"f\" {\n  path = \"/etc/${var.port}\"\n  content = \"x\"\n}\n",
		"modules/top/top.hcl": "needs \"site\" {}\nfile \"/etc/a-top\" { content = \"x\" }\n",
		"fettle.hcl": "target \"t\" {\n  modules = [\"top\"]\n  module \"site\" {\n    for_each = { a = 1, b = 2 }\n" +
			"    vars = { port = each.value }\n  }\n}\n"})
	r := compile.Open(tree)
	res, ds := r.Compile(compile.Input{Tree: tree})
	if len(ds) > 0 || len(res.Exports) != 2 || res.Exports[0].As != `site["a"]` || res.Exports[1].Value != `"p2"` {
		t.Fatalf("%+v %v", res.Exports, ds)
	}
	if list := res.List.String(); !strings.HasSuffix(strings.TrimSpace(list), "/etc/a-top") {
		t.Errorf("the module that needs both is not the last:\n%s", list)
	}
	call, ds := r.CallAction(compile.Input{Tree: tree}, `site["b"].drain`, nil, false)
	if len(ds) > 0 || len(call.Result.List) != 1 || !strings.Contains(call.Result.List.String(), "/bin/drain 2") {
		t.Errorf("%+v %v", call, ds)
	}
	_, ds = r.CallAction(compile.Input{Tree: tree}, "drain", nil, false)
	if want := `Name one of: site["a"].drain, site["b"].drain`; !strings.Contains(shown(ds), want) {
		t.Error(ds)
	}
}

// Between two revisions, a module that uses all modules of a block is evaluated again if an element is added, removed
// or changed. Modules that do not use them are reused.
func TestAllModulesOfABlockInRevisions(t *testing.T) {
	text := `role "r" {
  modules = ["proxy", "other"]
  module "site" {
    for_each = yamldecode(file("sites.yaml"))
    vars     = { port = each.value }
  }
}
target "t1" { roles = ["r"] }
target "t2" { roles = ["r"] }
`
	tree := func(sites string) repo.Tree {
		return siteTree(map[string]string{"fettle.hcl": text, "sites.yaml": sites,
			"modules/proxy/p.hcl": "file \"/etc/proxy\" {\n  content = \"${target.name} " +
				"${join(\" \", [for k, m in module.site : m.address])}\"\n}\n",
			"modules/other/o.hcl": "file \"/etc/other\" {\n  content = target.name\n}\n"})
	}
	all := []string{"{a: 1}", "{a: 1, b: 2}", "{a: 3, b: 2}", "{}", "{b: 2}"}
	for _, before := range all {
		for _, after := range all {
			trees := [2]repo.Tree{tree(before), tree(after)}
			fast := compile.Between(compile.Open(trees[0]), compile.Open(trees[1]))
			for _, target := range []string{"t1", "t2", "t1"} {
				var lists [2]step.List
				for i := range trees {
					res, ds := compile.Compile(compile.Input{Tree: trees[i], Target: target})
					if len(ds) > 0 {
						t.Fatal(ds)
					}
					lists[i] = res.List
				}
				got, ds := fast.Diff(compile.Input{Target: target}, compile.Compared{Target: target, Has: [2]bool{true, true}})
				text, want := step.FormatDiff(got.Changes), step.FormatDiff(step.Diff(lists[0], lists[1]))
				if len(ds) > 0 || text != want {
					t.Errorf("%s, %s to %s:\n%s\nnot\n%s%v", target, before, after, text, want, ds)
				}
			}
			if compile.Taken(fast) == 0 {
				t.Errorf("%s to %s: nothing is reused", before, after)
			}
		}
	}
}
