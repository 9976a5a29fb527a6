package compile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
	"fettle.dev/fettle/internal/lang/front/yamlfront"
	"fettle.dev/fettle/internal/lang/schema"
	"fettle.dev/fettle/internal/repo"
)

// structural are the errors that the schema must also find: errors that are visible in a single
// file.
var structural = []string{
	"Unknown attribute", "Unknown kind", "Unknown block", "Unknown value", "Missing attribute", "Mapping expected",
	"Label expected",
	"Bad name", "Bad label", "Template in a label", "Unexpected attribute", "Unexpected block", "Unexpected label",
	"Incomplete validation",
	"String expected", "Target inside a module", "Level inside a module", "Policy inside a module",
	"SSH inside a module", "Test among states", "Define inside a define",
	"Target group selects nothing", "Test without expectations", "Invalid policy", "Wrong type", "Reference expected",
	"Variables are an object", "Bad merge",
}

// isStructural excludes errors that need more than the file: the type of a variable that is
// declared elsewhere, and rules of a kind that are not part of its schema.
func isStructural(d diag.Diagnostic) bool {
	return slices.Contains(structural, d.Summary) && !strings.HasPrefix(d.Detail, "The variable ") &&
		!strings.HasPrefix(d.Detail, "The output ") && !strings.HasPrefix(d.Detail, "A sysctl needs value")
}

// validators are schemas that are ready, by their text.
type validators map[string]*jsonschema.Schema

// of is the schema of a repository's files of a part; own tells that it may
// define kinds of its own.
func (v validators) of(t *testing.T, tree repo.Tree, part schema.Part, own bool) (s *jsonschema.Schema) {
	t.Helper()
	builtin := repo.MapTree(map[string]string{"fettle.hcl": ""})
	if !own { // reading the library again and again takes most of the time
		tree = builtin
		if ready := v[string(part)]; ready != nil {
			return ready
		}
		defer func() { v[string(part)] = s }()
	}
	text, ds := compile.Open(tree).Schema(part)
	if ds.HasErrors() { // its own kinds cannot be determined
		text, ds = compile.Open(builtin).Schema(part)
	}
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if v[string(text)] == nil {
		v[string(text)] = compiled(t, text)
	}
	return v[string(text)]
}

func compiled(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("fettle.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("fettle.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// partOf tells which schema is for a file.
func partOf(file string) schema.Part {
	switch dir := path.Dir(file); {
	case path.Base(dir) == "tests":
		return schema.Tests
	case dir == ".":
		return schema.Repository
	}
	return schema.Module
}

// document reads a file in YAML or JSON as fettle does; nil when it is none.
func document(file string, text []byte) *front.Node {
	name := path.Base(file)
	switch {
	case name == "fettle.yaml" || strings.HasSuffix(name, ".fettle.yaml"):
		n, _ := yamlfront.Parse(front.NewSource(file, text))
		return n
	case name == "fettle.json" || strings.HasSuffix(name, ".fettle.json"):
		n, _ := jsonfront.Parse(front.NewSource(file, text))
		return n
	}
	return nil
}

// plainValue is a document as a validator has it.
func plainValue(n *front.Node) any {
	switch n.Kind {
	case front.Null:
		return nil
	case front.Bool:
		return n.Text == "true"
	case front.Number:
		return json.Number(n.Text)
	case front.List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, plainValue(item))
		}
		return out
	case front.Map:
		out := map[string]any{}
		for _, p := range n.Pairs {
			out[p.Key.Text] = plainValue(p.Value)
		}
		return out
	}
	return n.Text
}

// faults are the stretches of the text that a validator complains about.
func faults(n *front.Node, s *jsonschema.Schema) []diag.Range {
	err, _ := s.Validate(plainValue(n)).(*jsonschema.ValidationError)
	var out []diag.Range
	var leaves func(e *jsonschema.ValidationError)
	leaves = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			leaves(cause)
		}
		var names []string
		switch k := e.ErrorKind.(type) {
		case *kind.AdditionalProperties:
			names = k.Properties
		case *kind.PropertyNames:
			names = []string{k.Property}
		default:
			if len(e.Causes) == 0 {
				out = append(out, at(n, e.InstanceLocation))
			}
		}
		for _, name := range names {
			out = append(out, at(n, append(slices.Clone(e.InstanceLocation), name)))
		}
	}
	if err != nil {
		leaves(err)
	}
	return out
}

// at is where a pointer leads: a key with its value.
func at(n *front.Node, pointer []string) diag.Range {
	rng := n.Range()
	for _, word := range pointer {
		if n.Kind == front.List {
			i, _ := strconv.Atoi(word)
			n = n.Items[i]
			rng = n.Range()
			continue
		}
		for _, p := range n.Pairs {
			if p.Key.Text == word {
				rng, n = p.Key.Range(), p.Value
				rng.End = p.Value.Range().End
				break
			}
		}
	}
	return rng
}

// repositories returns the corpus in JSON, and repositories written by hand in YAML and JSON.
func repositories(t *testing.T) map[string]compile.Input {
	t.Helper()
	out := map[string]compile.Input{}
	for name, c := range corpus(t) {
		if strings.Contains(name, "syntax") || strings.Contains(name, "hostile") {
			continue
		}
		in := c.in
		in.Tree = otherForm(t, c.in.Tree, ".fettle.json", asJSON)
		out[name+" in JSON"] = in
	}
	files, _ := filepath.Glob("testdata/*/*.txtar")
	more, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range append(files, more...) {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for form, texts := range byForm(a) {
			in := readCase(t, file).in
			in.Tree = repo.MapTree(texts)
			out[file+" "+form] = in
		}
	}
	return out
}

// byForm takes the directories of a case apart, each a repository in one form.
func byForm(a *txtar.Archive) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, f := range a.Files {
		form, rest, ok := strings.Cut(f.Name, "/")
		if !ok || form != "yaml" && form != "json" {
			form, rest = ".", f.Name
		}
		if out[form] == nil {
			out[form] = map[string]string{}
		}
		out[form][rest] = string(f.Data)
	}
	return out
}

// A validator without knowledge of fettle agrees with fettle about every document. A document that
// compiles is valid. A structural error is reported at the same place.
func TestSchema(t *testing.T) {
	good, bad, all := 0, map[string]int{}, validators{}
	for name, in := range repositories(t) {
		_, ds := compile.Compile(in)
		_, ofTests := compile.Open(in.Tree).Tests()
		ds = append(ds, ofTests...)
		docs := documents(t, in.Tree)
		own := false
		for _, n := range docs {
			own = own || bytes.Contains(n.Src.Text, []byte("define"))
		}
		for file, n := range docs {
			found := faults(n, all.of(t, in.Tree, partOf(file), own))
			switch {
			case !ds.HasErrors() && len(found) > 0:
				t.Errorf("%s: %s compiles, and the schema refuses %s", name, file, found)
			case !ds.HasErrors():
				good++
			}
			for _, d := range ds {
				if d.Range.File != file || !isStructural(d) {
					continue
				}
				bad[d.Summary]++
				if !slices.ContainsFunc(found, func(r diag.Range) bool {
					return r.Start.Line <= d.Range.Start.Line &&
						d.Range.Start.Line <= r.End.Line
				}) {
					t.Errorf("%s: the schema has nothing against %v\n  %s", name, d, d.Line)
				}
			}
		}
	}
	t.Logf("%d good documents, bad ones: %v", good, bad)
	if good < 60 || len(bad) < 12 {
		t.Errorf("%d good documents and %d kinds of mistakes are too few to say that the schema is right", good, len(bad))
	}
}

// documents are the files of a repository in YAML and JSON.
func documents(t *testing.T, tree repo.Tree) map[string]*front.Node {
	t.Helper()
	out := map[string]*front.Node{}
	var walk func(dir string)
	walk = func(dir string) {
		list, err := tree.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Type == repo.Dir {
				walk(e.Path)
			}
			if e.Type != repo.File || strings.Contains(e.Path, "files/") || strings.Contains(e.Path, "templates/") {
				continue
			}
			text, err := tree.ReadFile(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			if n := document(e.Path, text); n != nil {
				out[e.Path] = n
			}
		}
	}
	walk(".")
	return out
}

// The language accepts exactly the blocks and attributes that the schema names. A change of one
// needs the same change of the other.
func TestSchemaBlocks(t *testing.T) {
	for _, b := range schema.Blocks() {
		var names []string
		for _, a := range b.Attrs {
			names = append(names, a.Name)
		}
		for _, name := range append(names, "nonsense") {
			text := blockText(b, fmt.Sprintf("%s = []", name))
			unknown := false
			r := compile.Open(repo.MapTree(map[string]string{"fettle.hcl": text}))
			if b.Name == "needs" || b.Name == "exported" {
				r = compile.Open(repo.MapTree(map[string]string{"fettle.hcl": `target "t" { modules = ["m"] }`,
					"modules/m/module.hcl": text}))
			}
			var ds diag.List
			if b.Name == "test" || b.Name == "expect" {
				r = compile.Open(repo.MapTree(map[string]string{"fettle.hcl": "", "tests/a.hcl": text}))
				_, ds = r.Tests()
			} else {
				_, ds = r.Compile(compile.Input{})
			}
			for _, d := range ds {
				unknown = unknown || (d.Summary == "Unknown attribute" || d.Summary == "Unexpected attribute") &&
					strings.Contains(d.Detail, strconv.Quote(name))
			}
			if wanted := name == "nonsense" && b.Name != "locals"; unknown != wanted {
				t.Errorf("%s.%s: the language knows it: %t", b.Name, name, !unknown)
			}
		}
	}
}

// blockText is a block with one attribute where it may stand.
func blockText(b schema.Block, attr string) string {
	label := ""
	if b.Label != "" {
		label = `"a" `
	}
	text := b.Name + " " + label + "{\n" + attr + "\n}\n"
	switch b.Name {
	case "validation":
		return "variable \"x\" {\n" + text + "}\n"
	case "param":
		return "action \"x\" {\ncommand = [\"true\"]\n" + text + "}\n"
	case "approval", "compare", "metric", "webhook":
		return fmt.Sprintf("rollout \"r\" {\n  wave \"w\" {\n%s \"x\" { %s }\n}\n}\n", b.Name, attr)
	case "check", "task":
		return "cluster \"x\" {\n" + text + "}\n"
	case "verify", "undo":
		return "cluster \"x\" {\ntask \"y\" {\n" + text + "}\n}\n"
	case "wave", "after":
		return "rollout \"x\" {\n" + text + "}\n"
	case "part":
		return "command \"x\" {\n" + text + "}\n"
	case "module":
		return "target \"x\" {\n" + text + "}\n"
	case "expect":
		return "test \"x\" {\ntarget = \"a\"\n" + text + "}\n"
	}
	return text
}

// In a block with for_each, an expression can give whole mappings and lists. In other blocks, it cannot.
func TestSchemaForEach(t *testing.T) {
	s := validators{}.of(t, nil, schema.Repository, false)
	for _, attribute := range []string{"vars", "roles", "modules", "layer"} {
		for forEach, good := range map[string]bool{"    for_each: file(\"x\")\n": true, "": false} {
			text := "target:\n  a:\n" + forEach + "    " + attribute + ": ${each.value}\n"
			found := faults(document("fettle.yaml", []byte(text)), s)
			if (len(found) == 0) != good {
				t.Errorf("%s\nhas the faults %v", text, found)
			}
			_, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.yaml": text,
				"x": ""})})
			if wrong := strings.Contains(shown(ds), "vars must be an object"); attribute == "vars" && wrong == good {
				t.Errorf("%s\n%s", text, shown(ds))
			}
		}
	}
	for _, text := range []string{"role:\n  a: {module: {m: {for_each: x, at_least: 2, vars: \"${each.value}\"}}}\n",
		"environment:\n  a: {for_each: {x: 1}, vars: \"${each.value}\"}\n", "cluster:\n  a: {for_each: x, labels: {}}\n"} {
		if found := faults(document("fettle.yaml", []byte(text)), s); len(found) > 0 {
			t.Errorf("%s\nhas the faults %v", text, found)
		}
	}
}
