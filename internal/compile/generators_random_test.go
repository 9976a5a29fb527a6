package compile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// madeElement is the value of an element: the label env and a text.
type madeElement struct {
	Env string `json:"env"`
	V   string `json:"v"`
}

// madeSource is a drawn source of elements: its expression, its files, and the elements by the definition of the
// source.
type madeSource struct {
	kind, expression string
	files            map[string]string
	elements         map[string]madeElement
}

// keys returns the keys, sorted. It is not nil.
func (s madeSource) keys() []string {
	return append([]string{}, slices.Sorted(maps.Keys(s.elements))...)
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// drawElements draws up to four elements.
func drawElements(t *rapid.T, what string) map[string]madeElement {
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c.d", "e_1", "f-g"}), 0, 4,
		rapid.ID[string]).Draw(t, what)
	out := map[string]madeElement{}
	for _, k := range keys {
		out[k] = madeElement{Env: rapid.SampledFrom([]string{"prod", "test"}).Draw(t, "env"),
			V: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "v")}
	}
	return out
}

// drawSource draws a source. Its files have the prefix name.
func drawSource(t *rapid.T, name string) madeSource {
	s := madeSource{files: map[string]string{}, elements: drawElements(t, "keys")}
	s.kind = rapid.SampledFrom([]string{"map", "set", "yaml", "csv", "files", "directories", "product", "merge", "fields",
		"lookup"}).Draw(t, "source")
	switch s.kind {
	case "map":
		s.expression = jsonOf(s.elements)
	case "set":
		for k := range s.elements {
			s.elements[k] = madeElement{Env: "prod", V: k}
		}
		s.expression = "{ for k in toset(" + jsonOf(s.keys()) + ") : k => { env = \"prod\", v = k } }"
	case "yaml":
		s.files[name+".yaml"] = jsonOf(s.elements)
		s.expression = fmt.Sprintf("yamldecode(file(%q))", name+".yaml")
	case "csv":
		text := "name,v,env\n"
		for _, k := range s.keys() {
			text += fmt.Sprintf("%s,%s,%s\n", k, s.elements[k].V, s.elements[k].Env)
		}
		s.files[name+".csv"] = text
		s.expression = fmt.Sprintf("{ for r in csvdecode(file(%q)) : r.name => r }", name+".csv")
	case "files":
		s.files[name+"/README"] = "a directory without an element"
		for k, e := range s.elements {
			s.files[name+"/"+k+".yaml"] = jsonOf(e)
		}
		s.expression = fmt.Sprintf("{ for f in fileset(%q, \"*.yaml\") : trimsuffix(f, \".yaml\") => "+
			"yamldecode(file(\"%s/${f}\")) }", name, name)
	case "directories":
		s.files[name+"/README"] = "a directory without an element"
		for k, e := range s.elements {
			s.files[name+"/"+e.Env+"/"+k+"/site.yaml"] = "v: " + e.V
		}
		s.expression = fmt.Sprintf("{ for f in fileset(%q, \"*/*/site.yaml\") : basename(dirname(f)) => "+
			"{ env = dirname(dirname(f)), v = yamldecode(file(\"%s/${f}\")).v } }", name, name)
	case "product":
		s.elements = s.product()
	case "merge", "fields":
		s.merged(name, drawElements(t, "other keys"))
	case "lookup":
		var list []map[string]string
		for _, k := range s.keys() {
			list = append(list, map[string]string{"name": k, "env": s.elements[k].Env, "v": s.elements[k].V})
		}
		answer := jsonOf(list)
		if list == nil {
			answer = "[]"
		}
		s.files["lookups/"+name+".json"] = snapshotOf(t, name, answer)
		s.files[name+".hcl"] = fmt.Sprintf("lookup %q { url = \"https://example.org/%s\" }\n", name, name)
		s.expression = fmt.Sprintf("{ for h in lookup.%s : h.name => h }", name)
	}
	return s
}

// product replaces the elements by the product of their keys and two environments.
func (s *madeSource) product() map[string]madeElement {
	s.expression = "{ for p in setproduct(" + jsonOf(s.keys()) + ", [\"prod\", \"test\"]) : join(\"-\", p) => " +
		"{ env = p[1], v = p[0] } }"
	if len(s.elements) == 0 {
		s.expression = "{}"
	}
	out := map[string]madeElement{}
	for k := range s.elements {
		for _, env := range []string{"prod", "test"} {
			out[k+"-"+env] = madeElement{Env: env, V: k}
		}
	}
	return out
}

// merged adds a second source. For equal keys, the elements of the second one replace the first ones, or only their
// fields; then, keys that only the second one has make no element.
func (s *madeSource) merged(name string, more map[string]madeElement) {
	first, second := fmt.Sprintf("yamldecode(file(%q))", name+".yaml"), fmt.Sprintf("jsondecode(file(%q))", name+".json")
	s.files[name+".yaml"] = jsonOf(s.elements)
	s.expression = "merge(" + first + ", " + second + ")"
	out := maps.Clone(s.elements)
	if s.kind == "merge" {
		s.files[name+".json"] = jsonOf(more)
		maps.Copy(out, more)
	} else {
		fields := map[string]map[string]string{}
		for k, e := range more {
			fields[k] = map[string]string{"v": e.V}
			if old, ok := out[k]; ok {
				out[k] = madeElement{Env: old.Env, V: e.V}
			}
		}
		s.files[name+".json"] = jsonOf(fields)
		s.expression = "{ for k, e in " + first + " : k => merge(e, try(" + second + "[k], {})) }"
	}
	s.elements = out
}

// madeWorld is a drawn repository with blocks that have for_each.
type madeWorld struct {
	files   map[string]string
	targets map[string]madeElement // by name, by the definition
	error   string                 // a part of the expected error, "" for none
	modules map[string]madeElement // of the block i, by key
}

func drawMade(t *rapid.T) *madeWorld {
	w := &madeWorld{targets: map[string]madeElement{}, files: map[string]string{}}
	var b strings.Builder
	for i := range rapid.IntRange(1, 3).Draw(t, "blocks") {
		s := drawSource(t, fmt.Sprintf("s%d", i))
		maps.Copy(w.files, s.files)
		least := rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "at least")
		prefix := rapid.SampledFrom([]string{fmt.Sprintf("t%d-", i), fmt.Sprintf("t%d-", i), "t-"}).Draw(t, "prefix")
		fmt.Fprintf(&b, "target \"b%d\" {\n  for_each = %s\n  name = \"%s${each.key}\"\n  at_least = %d\n"+
			"  labels = { env = each.value.env }\n  vars = { own = each.value.v }\n}\n", i, s.expression, prefix, least)
		if len(s.elements) < least {
			w.error = "Too few targets"
		}
		for k, e := range s.elements {
			if _, twice := w.targets[prefix+k]; twice && w.error == "" {
				w.error = "Target declared twice"
			}
			w.targets[prefix+k] = e
		}
	}
	w.drawModules(t, &b)
	b.WriteString("cluster \"c\" {\n  for_each = toset([\"prod\", \"test\"])\n  name = \"c-${each.key}\"\n" +
		"  labels = { env = each.key }\n}\n" +
		"environment \"e\" {\n  for_each = { prod = \"p\", test = \"t\" }\n  labels = { env = each.key }\n" +
		"  vars = { wide = each.value }\n}\n" +
		"variable \"own\" {}\nvariable \"wide\" {}\nexec \"show\" { command = [var.own, var.wide, environment.name] }\n" +
		"exec \"all\" { command = [\"all\", join(\",\", [for k, m in module.i : \"${k}/${m.out}\"])] }\n")
	w.files["fettle.hcl"] = b.String()
	return w
}

// drawModules declares the module block i, whose elements are drawn.
func (w *madeWorld) drawModules(t *rapid.T, b *strings.Builder) {
	s := drawSource(t, "m")
	maps.Copy(w.files, s.files)
	w.modules = s.elements
	least := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "at least of modules")
	if len(s.elements) < least && w.error == "" && len(w.targets) > 0 { // without targets, nothing evaluates it
		w.error = "Too few modules"
	}
	fmt.Fprintf(b, "target_group \"all\" {\n  targets = [\"*\"]\n  module \"i\" {\n    for_each = %s\n    at_least = %d\n"+
		"    vars = { v = each.value.v }\n  }\n}\n", s.expression, least)
	w.files["modules/i/i.hcl"] = "variable \"v\" {}\noutput \"out\" { value = \"${var.v}@${target.name}\" }\n" +
		"exec \"one\" { command = [var.v] }\n"
	for _, k := range s.keys() {
		fmt.Fprintf(b, "exec \"of %s\" { command = [module.i[%q].out, module.i[\"%s\"].out] }\n", k, k, k)
	}
}

// list returns the expected steps of a target, sorted.
func (w *madeWorld) list(name string) string {
	e := w.targets[name]
	var out, all []string
	for _, k := range slices.Sorted(maps.Keys(w.modules)) {
		text := w.modules[k].V + "@" + name
		all = append(all, k+"/"+text)
		out = append(out, fmt.Sprintf(`EXEC "i[\"%s\"].one" %s`, k, w.modules[k].V),
			fmt.Sprintf(`EXEC "of %s" %s %s`, k, text, text))
	}
	out = append(out, "EXEC show "+e.V+" "+e.Env[:1]+" "+e.Env, "EXEC all all "+orEmpty(strings.Join(all, ",")))
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func orEmpty(text string) string {
	if text == "" {
		return `""`
	}
	return text
}

// checkScopes compares the clusters and environments with their definition.
func (w *madeWorld) checkScopes(t *rapid.T, tree repo.Tree) {
	all, ds := compile.Open(tree).Scopes()
	if ds.HasErrors() || len(all.Scopes) != 4 || all.Valid() != nil {
		t.Fatalf("%+v %v", all, ds)
	}
	for _, s := range all.Scopes {
		env := strings.TrimPrefix(s.Name, "c-")
		var want []string
		for _, name := range slices.Sorted(maps.Keys(w.targets)) {
			if w.targets[name].Env == env {
				want = append(want, name)
			}
		}
		if !slices.Equal(s.Targets, want) || s.Element == nil || s.Element.Key != env ||
			s.Element.Value != map[string]string{"environment": `"` + env[:1] + `"`}[s.Kind] {
			t.Fatalf("%s has %v, not %v, and the element %+v", s.ID(), s.Targets, want, s.Element)
		}
	}
}

// checkElements compares the elements of targets and modules with the sources.
func (w *madeWorld) checkElements(t *rapid.T, targets []query.Target) {
	for _, x := range targets {
		e := w.targets[x.Name]
		var value madeElement
		if x.Element == nil || !strings.HasSuffix(x.Name, x.Element.Key) ||
			json.Unmarshal([]byte(x.Element.Value), &value) != nil || value != e || x.Labels["env"] != e.Env ||
			x.Environment != e.Env {
			t.Fatalf("%+v is not made of %+v", x, e)
		}
		if len(x.Uses) != len(w.modules) || len(x.Errors) > 0 {
			t.Fatalf("%s has %+v, %q", x.Name, x.Uses, x.Errors)
		}
		for _, u := range x.Uses {
			if u.Element == nil || json.Unmarshal([]byte(u.Element.Value), &value) != nil ||
				value != w.modules[u.Element.Key] || u.Name != fmt.Sprintf("i[%q]", u.Element.Key) {
				t.Fatalf("%+v is not an element of %+v", u, w.modules)
			}
		}
	}
}

// TestRandomGenerators compares targets, modules, clusters and environments of blocks with for_each with the definition
// of their sources.
func TestRandomGenerators(t *testing.T) {
	errors, good, kinds := map[string]int{}, 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := drawMade(rt)
		tree := repo.MapTree(w.files)
		defer func() {
			if rt.Failed() {
				for _, name := range slices.Sorted(maps.Keys(w.files)) {
					rt.Logf("-- %s --\n%s", name, w.files[name])
				}
			}
		}()
		targets, ds := compile.Targets(tree)
		if w.error != "" {
			if text := shown(ds); !strings.Contains(text, w.error) && !strings.Contains(text, "Too few") {
				rt.Fatalf("%s\nnot %q", text, w.error)
			}
			errors[w.error]++
			return
		}
		if ds.HasErrors() || len(targets) != len(w.targets) {
			rt.Fatalf("%d targets, not %d: %v", len(targets), len(w.targets), ds)
		}
		w.checkElements(rt, targets)
		w.checkScopes(rt, tree)
		var names []string
		for _, x := range targets {
			res, ds := compile.Compile(compile.Input{Tree: tree, Target: x.Name})
			steps := strings.Split(strings.TrimSpace(res.List.String()), "\n")
			slices.Sort(steps)
			if got, want := strings.Join(steps, "\n"), w.list(x.Name); ds.HasErrors() || got != want {
				rt.Fatalf("%s has\n%s\nnot\n%s\n%v", x.Name, got, want, ds)
			}
			names, good = append(names, x.Name), good+1
		}
		sameLists(rt, compile.Input{Tree: tree}, names)
		for _, text := range []string{"csvdecode", "fileset", "setproduct", "merge(", "lookup.", "toset", "try("} {
			if strings.Contains(w.files["fettle.hcl"], text) {
				kinds[text]++
			}
		}
	})
	if t.Logf("%d targets, errors %v, sources %v", good, errors, kinds); good < 40 || len(errors) < 2 || len(kinds) < 6 {
		t.Error("this shows nothing")
	}
}
