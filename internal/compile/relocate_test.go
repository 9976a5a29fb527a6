package compile_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// exampleFiles are the files of an example.
func exampleFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	top := os.DirFS("../../examples/" + dir)
	err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(top, p)
		texts[p] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// A module is relocatable. Its directory, copied into another repository under another name,
// compiles to the same steps. The other module there has states, kinds, variables and locals of the
// same names.
func TestModulesAreRelocatable(t *testing.T) {
	modules := map[string]bool{}
	for _, example := range []string{"hello", "web", "demo/v1", "demo/v2", "company"} {
		texts := exampleFiles(t, example)
		r := compile.Open(repo.MapTree(texts))
		targets, ds := r.Targets()
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		for _, target := range targets {
			for _, dir := range target.Modules {
				if key := example + " " + dir; !modules[key] { // one target of each module is enough
					modules[key] = true
					t.Run(key, func(t *testing.T) { relocate(t, r, texts, target.Name, dir) })
				}
			}
		}
	}
	if len(modules) < 15 {
		t.Errorf("%d modules are too few to say that modules can be moved", len(modules))
	}
}

func relocate(t *testing.T, r *compile.Repository, texts map[string]string, target, dir string) {
	t.Helper()
	in := compile.Input{Target: target, Facts: exampleFacts()}
	before, ds := r.Compile(in)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	want, states := stepsBelow(before, "module."+path.Base(dir)+".")
	if len(want) == 0 {
		t.Fatal("the module comes to nothing")
	}
	module := path.Base(dir)
	moved := map[string]string{}
	for name, text := range texts {
		if below, ok := strings.CutPrefix(name, dir+"/"); ok {
			moved["modules/moved/"+below] = text
		}
		if name == "kinds.hcl" { // a module can depend on the kinds for all modules
			moved[name] = text
		}
	}
	others := companions(moved, texts)
	moved["modules/neighbour/module.hcl"] = neighbour(states, texts, dir)
	moved["fettle.hcl"] = surroundings(t, r, in, append(others, module), texts, before)
	after, ds := compile.Compile(compile.Input{Tree: repo.MapTree(moved), Target: target, Facts: in.Facts})
	if ds.HasErrors() {
		t.Fatalf("it does not compile elsewhere:\n%s\n%s\n%s", shown(ds), moved["fettle.hcl"],
			moved["modules/neighbour/module.hcl"])
	}
	if got, _ := stepsBelow(after, "module.moved."); !slices.Equal(got, want) {
		t.Errorf("elsewhere it comes to\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// stepsBelow are the steps of states with a prefix, sorted, and the states.
func stepsBelow(res compile.Result, prefix string) (steps, states []string) {
	for _, st := range res.States {
		id, ok := strings.CutPrefix(st.ID, prefix)
		if !ok {
			continue
		}
		states = append(states, id)
		for _, i := range st.Steps {
			if res.List[i].Verb != step.Act { // it can also wait for a neighbour
				steps = append(steps, res.List[i].String())
			}
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps), states
}

// neighbour returns a module with the names of another module and different content.
func neighbour(states []string, texts map[string]string, dir string) string {
	var b strings.Builder
	b.WriteString("locals { other = 1 }\n")
	for i, id := range states {
		kindName, rest, _ := strings.Cut(id, ".")
		label := rest
		if k, bracketed, ok := strings.Cut(id, "["); ok && !strings.Contains(k, ".") {
			kindName, label = k, strings.Trim(bracketed, `"]`)
		}
		if strings.ContainsAny(label, "[]/\"") {
			continue
		}
		switch kindName {
		case "file":
			fmt.Fprintf(&b, "file %q {\n  path = \"/etc/neighbour-%d\"\n  content = \"\"\n}\n", label, i)
		case "directory":
			fmt.Fprintf(&b, "directory %q { path = \"/etc/neighbour-%d\" }\n", label, i)
		case "exec":
			fmt.Fprintf(&b, "exec %q { command = \"true\" }\n", label)
		case "check":
			fmt.Fprintf(&b, "check %q { exec = \"true\" }\n", label)
		case "package":
			fmt.Fprintf(&b, "package %q { name = \"neighbour-%d\" }\n", label, i)
		}
	}
	for name, text := range texts {
		if !strings.HasPrefix(name, dir+"/") || !strings.HasSuffix(name, ".hcl") || strings.Contains(name, "/tests/") {
			continue
		}
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "define \""); ok {
				kindName, _, _ := strings.Cut(rest, `"`)
				fmt.Fprintf(&b, "define %q {\n  locals { other = 2 }\n}\n", kindName)
			}
		}
	}
	return b.String()
}

// companions are the modules that a module refers to, which come along under
// their own names.
func companions(moved, texts map[string]string) []string {
	found := map[string]string{}
	for _, text := range moved {
		for _, m := range regexp.MustCompile(`\bmodule\.([a-z0-9_-]+)\.`).FindAllStringSubmatch(text, -1) {
			found[m[1]] = ""
		}
	}
	for name, text := range texts {
		parts := strings.Split(name, "/")
		if len(parts) < 3 || parts[0] != "modules" {
			continue
		}
		if _, ok := found[parts[1]]; ok {
			moved[name] = text
		}
	}
	return sortedKeysOf(found)
}

// surroundings returns the top of the other repository: the target with its labels, roles and
// groups, and the values of the modules' variables. The last module is the one to relocate.
func surroundings(t *testing.T, r *compile.Repository, in compile.Input, modules []string, texts map[string]string,
	res compile.Result) string {
	t.Helper()
	vars, ds := r.Explain(in, "")
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	self := itself(t, in, texts)
	var b strings.Builder
	for _, f := range res.FactsUsed {
		fmt.Fprintf(&b, "fact %q {}\n", f)
	}
	for _, name := range self.Roles {
		fmt.Fprintf(&b, "role %q {}\n", name)
	}
	for _, name := range self.Groups {
		fmt.Fprintf(&b, "target_group %q { targets = [\"*\"] }\n", name)
	}
	roles, _ := json.Marshal(append([]string{}, self.Roles...))
	labels, _ := json.Marshal(self.Labels)
	fmt.Fprintf(&b, "target %q {\n  roles = %s\n  labels = %s\n", in.Target, roles, labels)
	for i, module := range modules {
		name := module
		if i == len(modules)-1 {
			name = "moved"
		}
		fmt.Fprintf(&b, "  module %q {\n    vars = {\n", name)
		for _, v := range vars {
			if v.Module == "module "+module && v.Value != "" {
				value := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.Value)
				fmt.Fprintf(&b, "      %s = %s\n", v.Name, value)
			}
		}
		b.WriteString("    }\n  }\n")
	}
	b.WriteString("  module \"neighbour\" {}\n}\n")
	return b.String()
}

type targetItself struct {
	Labels        map[string]string
	Roles, Groups []string
}

// itself returns the value of `target` in expressions.
func itself(t *testing.T, in compile.Input, texts map[string]string) (out targetItself) {
	t.Helper()
	asking := map[string]string{}
	for name, text := range texts { // no module has a part in it
		if !strings.HasPrefix(name, "modules/") {
			asking[name] = text
		} else if strings.Count(name, "/") == 2 && strings.HasSuffix(name, ".hcl") {
			asking[name] = variablesOf(text)
		}
	}
	asking["zz-itself.hcl"] = `file "/etc/zz-itself" { content = jsonencode(target) }`
	in.Tree = repo.MapTree(asking)
	res, ds := compile.Compile(in)
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	for _, s := range res.List {
		if s.Path() == "/etc/zz-itself" {
			if err := json.Unmarshal(res.Blobs[s.Blob()].Data, &out); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// variablesOf declares only the variables of a module again.
func variablesOf(text string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^variable "([^"]+)"`).FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&b, "variable %q { default = null }\n", m[1])
	}
	return b.String()
}

func sortedKeysOf(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// exampleFacts are the facts that the examples declare.
func exampleFacts() map[string]cty.Value {
	return map[string]cty.Value{
		"os_codename": cty.StringVal("trixie"), "os_id": cty.StringVal("debian"), "os_version": cty.StringVal("13"),
	}
}
