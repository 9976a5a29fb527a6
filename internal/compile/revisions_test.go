package compile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// revisionsWorld draws a repository of several modules, and edits of it.
type revisionsWorld struct {
	fleetWorld
	files   map[string]string
	targets []string
}

// draw makes the first revision.
func (g *revisionsWorld) draw() {
	g.files, g.targets = g.repository()
	if g.pick("mistakes", "no", "no", "no", "yes") == "no" {
		g.files["fettle.hcl"] = strings.ReplaceAll(g.files["fettle.hcl"], `= "bad"`, `= "good"`)
	}
	for _, name := range []string{"n", "k"} {
		text := strings.NewReplacer("/srv", "/srv-"+name, "/etc/hosts", "/etc/hosts-"+name).Replace(g.module())
		g.files["modules/"+name+"/module.hcl"] = text + g.extras(name)
		g.files["modules/"+name+"/t.tmpl"] = "v of " + name + " is ${v}\n"
		g.files["modules/"+name+"/lookups/day.json"] = snapshotOf(g.t, "day", `"`+"monday"+`"`)
	}
	g.files["modules/n/module.hcl"] += "output \"given\" { value = " + g.pick("given", `"g"`, `target.name`,
		`var.shared`, `local.own`) + " }\n"
	g.files["kinds.hcl"] = "define \"top\" {\n  variable \"text\" { default = \"t\" }\n  variable \"path\" {}\n  main = \"path\"\n  file \"f\" {\n    path = var.path\n    content = " +
		g.pick("top", `var.text`, `templatefile("top.tmpl", { v = var.text })`, `"${target.name}${var.text}"`) + "\n  }\n}\n"
	g.files["locks.hcl"] = "lock \"l\" {}\n" + g.pick("locks", "", "lock \"y\" {}\n")
	g.files["top.tmpl"] = "top ${v}\n"
	g.files["secrets/x.age"] = "one"
	g.files["roles.hcl"] = "role \"r\" {\n  modules = [\"n\", \"k\"]\n  vars = { shared = " + g.pick("role", `"r"`,
		`target.name`, `"s"`) + " }\n}\n"
	g.files["fettle.hcl"] = strings.ReplaceAll(g.files["fettle.hcl"], `modules = ["m"]`,
		g.pick("modules", `roles = ["r"]`, "roles = [\"r\"]\n  modules = [\"m\"]", `modules = ["n", "k", "m"]`))
	g.files["made.yaml"] = madeData()[0]
	g.files["modules/i/module.hcl"] = "variable \"v\" {}\nfile \"f\" {\n  path = \"/srv-i/${var.v}\"\n  content = " +
		g.pick("instance", `"${target.name} ${var.v}"`, `var.v`) + "\n}\noutput \"out\" { value = " +
		g.pick("output", `"${target.name} ${var.v}"`, `var.v`, `file.f.path`) + " }\n"
	g.files["roles.hcl"] = strings.Replace(g.files["roles.hcl"], "role \"r\" {\n", "role \"r\" {\n"+
		g.pick("instances", "", "", "  module \"i\" {\n    for_each = toset(values(yamldecode(file(\"made.yaml\"))))\n"+
			"    vars = { v = each.value }\n  }\n"), 1)
	if g.pick("made", "no", "yes", "yes") == "yes" {
		g.files["made.hcl"] = "target \"g\" {\n  for_each = yamldecode(file(\"made.yaml\"))\n" +
			"  name = \"g-${each.key}\"\n  roles = [\"r\"]\n  vars = { " +
			g.pick("own", "own", "shared") + " = each.value }\n}\n"
		g.targets = append(g.targets, "g-a", "g-b")
	}
	g.files["facts.hcl"] = "fact \"os_id\" {\n  type = string\n  default = \"none\"\n}\n"
}

// madeData returns contents of the data file for targets and modules with for_each. The targets g-a, g-b and g-c exist.
func madeData() []string {
	return []string{"a: x\nb: y\n", "a: x\nb: z\n", "b: y\n", "c: w\nb: y\na: x\n"}
}

// snapshotOf returns the snapshot of a lookup with an answer in JSON.
func snapshotOf(t interface{ Fatal(...any) }, name, answer string) string {
	s, err := source.NewSnapshot(source.Lookup{Name: name, URL: "https://example.org/" + name, Format: "json"},
		[]byte(answer), time.Unix(0, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// extras returns states that depend on content outside of the module's own text.
func (g *revisionsWorld) extras(name string) string {
	from := []string{
		`file "/srv-` + name + `/fact" { content = "${fact.os_id} ${target.name}" }`,
		`top "/srv-` + name + `/top" { text = target.name }`,
		`top "/srv-` + name + `/top" {}`,
		`file "/srv-` + name + `/secret" { content = "${target.name} ${secret("x")}" }`,
		`file "/srv-` + name + `/secret" { content = secret("x") }`,
		"lookup \"day\" { url = \"https://example.org/day\" }\nfile \"/srv-" + name +
			`/day" { content = "${lookup.day} ${target.name}" }`,
		`directory "/srv-` + name + `/locked" { lock = "l" }`,
		`file "/srv-` + name + `/safe" {` + "\n  content = \"${var.own} ${target.name}\"\n  lock = \"l\"\n}",
		`directory "/srv-` + name + `/also" { lock = target.name == "t0" ? ["l"] : [] }`,
		`file "/srv-` + name + `/set" { content = "${join(",", fileset(".", "**"))} ${var.own}" }`,
	}
	if name == "k" {
		from = append(from, `file "/srv-k/given" { content = "${module.n.given} ${var.own}" }`,
			`file "/srv-k/given" { content = module.n.given }`,
			`file "/srv-k/there" { content = module.n.file.first.content }`,
			`file "/srv-k/all" { content = join(",", [for k, m in module.i : "${k} ${m.out}"]) }`,
			`file "/srv-k/all" { content = length(module.i) > 1 ? module.i["x"].out : var.own }`,
			`directory "/srv-k/all" { after = [module.i] }`)
	}
	var out string
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(from)-1), 0, 3, rapid.ID[int]).Draw(g.t, "extras") {
		if !strings.Contains(from[i], "/top\"") || !strings.Contains(out, "/top\"") {
			out += from[i] + "\n"
		}
	}
	if strings.Count(out, "/secret\"") > 1 || strings.Count(out, "/all\"") > 1 || strings.Count(out, "/given\"") > 1 {
		return ""
	}
	return out
}

// edit makes the second revision out of the first.
func (g *revisionsWorld) edit() (map[string]string, []string) {
	files, targets := maps.Clone(g.files), slices.Clone(g.targets)
	for range rapid.IntRange(0, 3).Draw(g.t, "edits") {
		names := slices.Sorted(maps.Keys(files))
		name := rapid.SampledFrom(names).Draw(g.t, "file")
		switch g.pick("edit", "text", "text", "text", "text", "state", "state", "line", "target", "gone", "more", "file",
			"day", "secret", "made", "made", "environments", "environments") {
		case "environments":
			files["environments.hcl"] = g.environments()
		case "made":
			files["made.yaml"] = rapid.SampledFrom(madeData()).Draw(g.t, "data")
			targets = slices.DeleteFunc(targets, func(t string) bool { return strings.HasPrefix(t, "g-") })
			for _, key := range []string{"a", "b", "c"} {
				if files["made.hcl"] != "" && strings.Contains(files["made.yaml"], key+": ") {
					targets = append(targets, "g-"+key)
				}
			}
		case "text":
			old := g.pick("old", `"fixed"`, `"x"`, `target.name`, `var.own`, `var.shared`, `"prod"`, `own = "`, ` is `, "one",
				"none", "top", `"a"`, "first", `"l"`, "example.org",
				`"e1"`)
			new := g.pick("new", `"fixed"`, `"y"`, `target.name`, `var.own`, `"prod"`, ` are `, "sunday", "two", `"a"`,
				`own = "q`, "second")
			files[name] = strings.Replace(files[name], old, new, rapid.SampledFrom([]int{1, -1}).Draw(g.t, "times"))
		case "state":
			m := g.pick("module", "m", "n", "k")
			files["modules/"+m+"/module.hcl"] += g.states()
		case "line":
			files[name] = "\n" + files[name]
		case "target":
			i := len(targets)
			targets = append(targets, fmt.Sprintf("u%d", i))
			files["more.hcl"] += fmt.Sprintf("target \"u%d\" {\n  roles = [\"r\"]\n}\n", i)
		case "gone":
			if _, rest, found := strings.Cut(files["fettle.hcl"], "target \"t0\""); found {
				_, rest, _ = strings.Cut(rest, "\n}\n")
				files["fettle.hcl"] = files["fettle.hcl"][:strings.Index(files["fettle.hcl"], "target \"t0\"")] + rest
				targets = slices.DeleteFunc(targets, func(t string) bool { return t == "t0" })
			}
		case "more":
			files["modules/"+g.pick("module", "m", "n", "k")+"/t1.txt"] = g.pick("own text", "another\n", "its own\n")
		case "file":
			delete(files, name)
		case "day":
			files["modules/"+g.pick("module", "n", "k")+"/lookups/day.json"] = snapshotOf(g.t, "day", `"`+"sunday"+`"`)
		case "secret":
			files["secrets/x.age"] = "two"
		}
	}
	return files, targets
}

// plainAnswer is the result of plainDiff.
type plainAnswer struct {
	text string
	ds   diag.List
}

// plainDiff compares two lists that were made by themselves.
func plainDiff(in compile.Input, r [2]*compile.Repository, has [2]bool) (string, diag.List) {
	var lists [2]step.List
	var ds diag.List
	for i := range r {
		if has[i] {
			res, more := r[i].Compile(in)
			lists[i], ds = res.List, append(ds, more...)
		}
	}
	if ds.HasErrors() {
		return "", ds
	}
	return step.FormatDiff(step.Diff(lists[0], lists[1])), ds
}

// Targets of a random repository at two random revisions differ exactly as their separately
// compiled lists, in any order.
func TestRevisionsSame(t *testing.T) {
	taken, changed := 0, 0
	facts := map[string]cty.Value{"os_id": cty.StringVal("debian")}
	rapid.Check(t, func(rt *rapid.T) {
		g := &revisionsWorld{fleetWorld: fleetWorld{t: rt}}
		g.draw()
		files, after := g.edit()
		defer func() {
			if rt.Failed() {
				for i, all := range []map[string]string{g.files, files} {
					for _, name := range slices.Sorted(maps.Keys(all)) {
						if i == 0 || g.files[name] != all[name] {
							rt.Logf("-- %d: %s --\n%s", i, name, all[name])
						}
					}
				}
			}
		}()
		trees := [2]repo.Tree{repo.MapTree(g.files), repo.MapTree(files)}
		plain := [2]*compile.Repository{compile.Open(trees[0]), compile.Open(trees[1])}
		fast := compile.Between(compile.Open(trees[0]), compile.Open(trees[1]))
		alone := map[string]*plainAnswer{}
		union := slices.Compact(slices.Sorted(slices.Values(slices.Concat(g.targets, after))))
		for _, target := range rapid.SliceOfN(rapid.SampledFrom(union), len(union), 2*len(union)).Draw(rt, "order") {
			in := compile.Input{Target: target, Facts: facts}
			has := [2]bool{slices.Contains(g.targets, target), slices.Contains(after, target)}
			if alone[target] == nil {
				text, ds := plainDiff(in, plain, has)
				alone[target] = &plainAnswer{text, ds}
			}
			want, wds := alone[target].text, alone[target].ds
			got, gds := fast.Diff(in, compile.Compared{Target: target, Has: has})
			if text := step.FormatDiff(got.Changes); text != want || shown(gds) != shown(wds) {
				rt.Fatalf("%s differs by\n%s%s\nand alone by\n%s%s", target, text, shown(gds), want, shown(wds))
			}
			if want != "" {
				changed++
			}
		}
		taken += compile.Taken(fast)
	})
	if t.Logf("%d lists were made of the revision before, %d targets changed", taken, changed); taken < 10 ||
		changed < 10 {
		t.Errorf("only %d lists were made of the revision before, and %d targets changed: this shows nothing", taken, changed)
	}
}
