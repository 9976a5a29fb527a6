package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// listed returns a list with its sources and errors as text.
func listed(list step.List, ds diag.List) string {
	return printed(compile.Result{List: list}) + shown(ds)
}

// sameLists compares the lists of a fleet, requested in the given order, with the list of each
// target alone.
func sameLists(t interface{ Fatalf(string, ...any) }, in compile.Input, targets []string) (alike int) {
	r, f := compile.Open(in.Tree), compile.Open(in.Tree).Fleet()
	for _, target := range targets {
		in.Target = target
		res, ds := r.Compile(in)
		want := listed(res.List, ds)
		list, ds := f.List(in)
		if got := listed(list, ds); got != want {
			t.Fatalf("%s with the others comes to\n%s\nand alone to\n%s", target, got, want)
		}
	}
	return compile.Alike(f)
}

// Every case has the same result alone and together with others.
func TestFleetCorpus(t *testing.T) {
	for name, c := range corpus(t) {
		targets, ds := compile.Targets(c.in.Tree)
		if ds.HasErrors() {
			continue
		}
		var names []string
		for _, target := range targets {
			names = append(names, target.Name)
		}
		t.Run(name, func(t *testing.T) { sameLists(t, c.in, slices.Concat(names, names)) })
	}
}

// States that resemble each other and differ: their position or validity depends on the target's
// own attributes.
func TestFleetTraps(t *testing.T) {
	for name, text := range map[string]string{
		"an address that another has": `file_line "x" {
  path  = "/etc/hosts"
  match = "^${var.own}"
  line  = "${var.own} 1"
}
file_line "y" {
  path  = "/etc/hosts"
  match = "^b"
  line  = "b 2"
}`,
		"a directory of its own": `file "f" {
  path    = "/srv/${var.own}/f"
  content = "f"
}
directory "/srv/b" {}
directory "/srv/a" {}
directory "/srv" {}`,
		"a command with a file of its own": `exec "x" {
  command = ["cat", "/etc/${var.own}"]
}
file "/etc/b" { content = "b" }
file "/etc/a" { content = "a" }`,
		"a validation by a package of its own": `file "/etc/x" {
  content  = "x"
  validate = "${var.own} -t"
}
package "b" {}
package "a" {}`,
		"an owner of its own": `file "/etc/x" {
  content = "x"
  owner   = var.own
}
user "b" {}
user "a" {}`,
		"an action that names it": `file_line "x" {
  path   = "/etc/hosts"
  match  = "^${var.own}"
  line   = "${var.own} 1"
  notify = [exec.tell.run]
}
exec "tell" {
  command = ["true"]
  lazy    = true
}`,
		"a rescue that names it": `block "b" {
  rescue = [exec.tell.run]
  file "/etc/x" { content = "x" }
}
file_line "x" {
  path  = "/etc/hosts"
  match = "^${var.own}"
  line  = "${var.own} 1"
  after = [block.b]
}
exec "tell" {
  command = ["true"]
  lazy    = true
}`,
		"an action of its own": `file "/etc/x" {
  content = "x"
  notify  = [exec.tell.run]
}
exec "tell" {
  command = ["echo", var.own]
  lazy    = true
}`,
		"content of its own with a lock": `lock "l" {}
file "/etc/x" {
  content = var.own
  lock    = "l"
}`,
		"a lock of its own": `lock "a" {}
lock "b" {}
lock "c" {}
file "/etc/x" {
  content = "x"
  lock    = var.own
}`,
		"content and a lock of its own": `lock "a" {}
lock "b" {}
file "/etc/x" {
  content = var.own
  lock    = var.own == "c" ? null : var.own
}`,
		"content of its own in a block with a lock": `lock "l" {}
block "b" {
  lock = "l"
  file "/etc/x" { content = var.own }
}`,
		"an action with a lock of its own": `lock "a" {}
file "/etc/x" {
  content = var.own
  notify  = [exec.tell.run]
}
exec "tell" {
  command = ["true"]
  lazy    = true
  lock    = var.own == "a" ? ["a"] : []
}`,
		"a step too long": `file_line "x" {
  path = "/etc/hosts"
  line = var.own == "b" ? repeat("x", 100000) : "short"
}`,
	} {
		t.Run(name, func(t *testing.T) {
			repository := "variable \"own\" {}\n" + text + "\n"
			for _, own := range []string{"a", "b", "c", "b", "a"} {
				repository += fmt.Sprintf("target \"t%d\" {\n  vars = { own = %q }\n}\n", strings.Count(repository, "target"), own)
			}
			sameLists(t, compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": repository})},
				[]string{"t0", "t1", "t2", "t3", "t4"})
		})
	}
}

// Targets of a random repository have the same result alone and together, in any order.
func TestFleetSame(t *testing.T) {
	alike := 0
	rapid.Check(t, func(rt *rapid.T) {
		g := &fleetWorld{t: rt}
		files, targets := g.repository()
		order := rapid.SliceOfN(rapid.SampledFrom(targets), 1, 3*len(targets)).Draw(rt, "order")
		defer func() {
			if rt.Failed() {
				for name, text := range files {
					rt.Logf("-- %s --\n%s", name, text)
				}
			}
		}()
		alike += sameLists(rt, compile.Input{Tree: repo.MapTree(files)}, order)
	})
	if t.Logf("%d lists were made of others", alike); alike < 15 {
		t.Errorf("only %d lists were made of others: this shows nothing", alike)
	}
}

// fleetWorld draws repositories whose targets differ in all the ways that they
// can.
type fleetWorld struct {
	t *rapid.T
	n int
}

func (g *fleetWorld) pick(what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.t, what)
}

// value is an expression that is a text.
func (g *fleetWorld) value() string {
	return g.pick("value", `"fixed"`, `"fixed"`, `var.shared`, `var.shared`, `var.own`, `target.name`, `local.own`,
		`local.shared`, `target.labels.env`,
		`"${var.shared}-${length(var.own)}"`, `upper(local.own)`, `file["first"].content`, `thing["one"].echo`,
		`environment.name`, `"${environment.domain}-${target.name}"`,
		`join(",", target.groups)`, `lookup(target.labels, "id", "none")`)
}

// truth is an expression that is true or false.
func (g *fleetWorld) truth() string {
	return g.pick("truth", `true`, `true`, `var.shared != "x"`, `var.own == "a"`, `target.name == "t1"`,
		`length(local.own) < 3`)
}

func (g *fleetWorld) states() string {
	g.n++
	each := g.pick("set", `["k", "l"]`, `["k", "l"]`, `[var.shared, "k"]`, `[var.own, "k"]`,
		`[for n in ["t1", "t2", "t3"] : n if n != target.name]`, `[for n in ["x", "y"] : n if n != target.name]`)
	v, w := g.value(), g.value()
	return g.pick("state",
		fmt.Sprintf("file \"/srv/%d\" {\n  content = %s\n  when = %s\n}\n", g.n, v, g.truth()),
		fmt.Sprintf("file \"/srv/n%d\" {\n  content = %s\n  notify = [exec.tell.run]\n}\n", g.n, v),
		fmt.Sprintf("file \"p%d\" {\n  path = \"/srv/p%d-${%s}\"\n  content = %s\n}\n", g.n, g.n, v, w),
		fmt.Sprintf(
			"file \"/srv/o%d\" {\n  content = \"x\"\n  mode = length(%s) > 1 ? \"0644\" : \"0600\"\n  after = [thing.one]\n}\n",
			g.n,
			v),
		fmt.Sprintf("file \"/srv/t%d\" {\n  template = \"t.tmpl\"\n  vars = { v = %s }\n}\n", g.n, v),
		fmt.Sprintf("file_line \"l%d\" {\n  path = \"/etc/hosts\"\n  match = \"^${%s}%d\"\n  line = \"${%s}%d x\"\n}\n",
			g.n, v, g.n, v, g.n),
		fmt.Sprintf("host_entry \"h%d\" {\n  name = \"h%d.${lower(%s)}\"\n  ip = \"10.0.0.%d\"\n}\n", g.n, g.n,
			`"a${length(`+v+`)}"`, g.n),
		fmt.Sprintf("exec \"e%d\" {\n  command = [\"true\", %s]\n  creates = \"/srv/e\"\n}\n", g.n, v),
		fmt.Sprintf("file \"each%d\" {\n  for_each = toset(%s)\n  path = \"/srv/%d-${each.key}\"\n  content = %s\n}\n", g.n,
			each, g.n, v),
		fmt.Sprintf(
			"thing \"each%d\" {\n  for_each = toset(%s)\n  text = \"${each.key}${%s}\"\n  where = \"e%d${each.key}\"\n}\n", g.n,
			each,
			v, g.n),
		fmt.Sprintf("thing \"%d\" {\n  text = %s\n  where = \"w%d\"\n  when = %s\n}\n", g.n, v, g.n, g.truth()),
		fmt.Sprintf("block \"b%d\" {\n  when = %s\n  file \"/srv/b%d\" { content = %s }\n}\n", g.n, g.truth(), g.n, v),
		fmt.Sprintf("package \"p%d\" { ensure = %s ? \"present\" : \"absent\" }\n", g.n, g.truth()),
		fmt.Sprintf(
			"file \"/srv/f%d\" { content = fileexists(\"${target.name}.txt\") ? file(\"${target.name}.txt\") : %s }\n", g.n, v),
		fmt.Sprintf("link \"/srv/k%d\" { target = \"/srv/${%s}\" }\n", g.n, v),
	)
}

func (g *fleetWorld) module() string {
	var b strings.Builder
	fmt.Fprintf(&b, "variable \"shared\" {\n  default = \"x\"\n  validation {\n    condition = length(var.shared) < %s\n    error_message = \"too long\"\n  }\n}\n", g.pick(
		"limit", "40", "40", "40", "40", "3"))
	fmt.Fprintf(&b, "variable \"own\" {\n  default = %s\n  validation {\n    condition = var.own != \"bad\" && var.shared != \"bad\"\n    error_message = \"bad\"\n  }\n}\n", g.pick(
		"default", `"a"`, `"d"`, `target.name`))
	fmt.Fprintf(&b, "locals {\n  own = %s\n  shared = %s\n}\n", g.pick("own", `var.own`, `"${var.own}!"`, `target.name`),
		g.pick("shared", `var.shared`, `"s"`, `lower(var.shared)`))
	b.WriteString("directory \"/srv\" {}\nfile \"first\" {\n  path = \"/srv/first\"\n  content = " + g.pick("first",
		`"f"`, `target.name`, `var.shared`) + "\n}\nexec \"tell\" {\n  command = [\"true\"]\n  lazy = true\n}\n")
	b.WriteString("define \"thing\" {\n  variable \"text\" { default = \"t\" }\n  variable \"where\" { default = \"one\" }\n  output \"echo\" { value = var.text }\n")
	b.WriteString("  file \"f\" {\n    path = \"/srv/thing-${var.where}\"\n    content = " + g.pick("inside", `var.text`,
		`"${var.text}${target.name}"`, `"plain"`) + "\n    when = " + g.pick("inside when", `true`,
		`var.text != "a"`) + "\n  }\n}\n")
	b.WriteString("thing \"one\" { text = " + g.pick("one", `"1"`, `target.name`, `var.shared`, `var.own`) + " }\n")
	for range rapid.IntRange(1, 5).Draw(g.t, "states") {
		b.WriteString(g.states())
	}
	return b.String()
}

// vars are the variables of a target's own, of one kind for all targets so that
// some are alike.
func (g *fleetWorld) vars(kind string) string {
	own := "vars = { own = " + g.pick("own value", `"a"`, `"a"`, `"b"`, `"other"`, `"other"`, `target.name`,
		`"${target.name}!"`, `"b"`, `"a"`, `"bad"`) + " }\n"
	switch kind {
	case "own":
		return own
	case "none":
		return ""
	}
	return g.pick("vars", "", own, "vars = { shared = \"z\" }\n", "vars = { own = \"a\", shared = \"w\" }\n")
}

func (g *fleetWorld) repository() (map[string]string, []string) {
	files := map[string]string{"modules/m/t.tmpl": "v is ${v}\n", "modules/m/t1.txt": "its own\n",
		"data/t3.yaml": "shared: three\n"}
	files["modules/m/module.hcl"] = g.module()
	var b strings.Builder
	fmt.Fprintf(&b, "target_group \"g\" {\n  labels = { env = \"prod\" }\n  vars = { shared = %s }\n}\n",
		g.pick("group", `"y"`, `"y"`, `"y"`, `"y"`, `"bad"`, `target.name`))
	if g.pick("data", "yes", "no", "no") == "yes" {
		b.WriteString("target_group \"all\" {\n  targets = [\"*\"]\n  data = [for f in [\"data/${target.name}.yaml\"] : f if fileexists(f)]\n}\n")
	}
	var targets []string
	kind := g.pick("kind", "own", "own", "own", "none", "any")
	for i := range rapid.IntRange(2, 6).Draw(g.t, "targets") {
		name := fmt.Sprintf("t%d", i)
		targets = append(targets, name)
		more := g.pick("more", "", "", "", "", "", "", "", "policy { on_failure = \"undo\" }\n",
			"data = [\"data/t3.yaml\"]\n", "merge = { own = \"replace\" }\n")
		fmt.Fprintf(&b, "target %q {\n  modules = [\"m\"]\n  labels = { env = %s }\n  %s%s}\n", name,
			g.pick("env", `"prod"`, `"prod"`, `"prod"`, `"prod", id = "7"`, `"staging"`), g.vars(kind), more)
	}
	files["fettle.hcl"] = b.String()
	files["environments.hcl"] = g.environments()
	return files, targets
}

// environments declares an environment for each value of the label env, with a parent. Half of the repositories have
// none.
func (g *fleetWorld) environments() string {
	if g.pick("environments", "no", "yes") == "no" {
		return "# none\n"
	}
	shared := g.pick("of environment", `each.value`, `each.value`, `"${each.value}"`, `environment.name`, `target.name`)
	return "environment \"e1\" {\n  domain = " + g.pick("domain", `"example.org"`, `null`) + "\n  vars = { " +
		g.pick("of parent", `own = "e"`, `shared = environment.domain`, `shared = "p"`) + " }\n}\n" +
		"environment \"all\" {\n  for_each = " + g.pick("elements", `{ prod = "x", staging = "y" }`, `{ staging = "s" }`) +
		"\n  labels = { env = each.key }\n  parent = " + g.pick("parent", `"e1"`, `"e1"`, `null`) + "\n  vars = { shared = " +
		shared + " }\n}\n"
}
