package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

func load(texts map[string]string) (*source.Program, diag.List) {
	p, ds := source.Load(repo.MapTree(texts), source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		return p, ds
	}
	_, more := eval.Catalog(p, eval.Input{})
	return p, append(ds, more...)
}

// Only names that say fettle are configuration: a module's data may be YAML or
// JSON too.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"fettle.hcl": true, "any.hcl": true, ".hidden.hcl": false,
		"fettle.yaml": true, "web.fettle.yaml": true, "data.yaml": false, "notfettle.yaml": false, ".fettle.yaml": false,
		"fettle.json": true, "web.fettle.json": true, "package.json": false,
		"fettle.yaml.tmpl": true, "web.fettle.yaml.tmpl": true, "site.yaml.tmpl": false,
		"fettle.star": true, "web.fettle.star": true, "lib.star": false,
		"fettle.yml": true, "web.fettle.yml": true, "ci.yml": false, "fettle": false,
	} {
		if got := source.IsSource(name); got != want {
			t.Errorf("IsSource(%q) = %t", name, got)
		}
	}
	_, ds := load(map[string]string{"fettle.json": "{}", "data.yaml": "a: [", "x.json": "{", "files/fettle.yaml": "a: ["})
	if ds.HasErrors() {
		t.Error("data was read as configuration:", ds.Err())
	}
	if _, ds = load(map[string]string{"fettle.yml": "{}"}); !ds.HasErrors() {
		t.Error("fettle.yml was left out silently")
	}
}

// Hostile documents end with one diagnostic that has a line, and soon.
func TestHostileDocuments(t *testing.T) {
	deep := func(open, end string) string { return strings.Repeat(open, 100_000) + strings.Repeat(end, 100_000) }
	bomb := "a0: &a0 x\n"
	for i := range 40 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct{ file, text string }{
		"YAML lists":       {"fettle.yaml", deep("[", "]")},
		"YAML mappings":    {"fettle.yaml", deep("{a: ", "}")},
		"YAML block lists": {"fettle.yaml", strings.Repeat("- ", 100_000)},
		"YAML keys":        {"fettle.yaml", strings.Repeat("? ", 100_000)},
		"YAML aliases":     {"fettle.yaml", bomb},
		"YAML brackets":    {"fettle.yaml", "locals: {a: '${" + deep("(", ")") + "}'}"},
		"YAML operators":   {"fettle.yaml", "locals: {a: '${" + strings.Repeat("!", 100_000) + "true}'}"},
		"YAML templates":   {"fettle.yaml", "locals: {a: '" + strings.Repeat(`${"`, 100_000) + "'}"},
		"YAML directives":  {"fettle.yaml", "locals: {a: '" + strings.Repeat("%{ if true }", 50_000) + "'}"},
		"YAML references":  {"fettle.yaml", "file: {a: {after: '" + deep("(", ")") + "'}}"},
		"YAML just too deep": {"fettle.yaml", "locals: {a: " + strings.Repeat("[",
			syntax.MaxNesting) + strings.Repeat("]", syntax.MaxNesting) + "}"},
		"a template's brackets": {"fettle.yaml.tmpl", "locals: {a: ${" + deep("(", ")") + "}}"},
		"a template's lists":    {"fettle.yaml.tmpl", `locals: {a: ${join("", [for x in range(1000) : "["])}}`},
		"Starlark lists":        {"fettle.star", "x = " + deep("[", "]")[:syntax.MaxNesting*400]},
		"Starlark signs":        {"fettle.star", "x = " + strings.Repeat("-", 100_000) + "1"},
		"Starlark loops":        {"fettle.star", "[[0 for j in range(100000)] for i in range(100000)]"},
		"Starlark functions":    {"fettle.star", "f = lambda g: g(g)\nf(f)"},
		"Starlark values": {"fettle.star",
			"def f():\n  x = [1]\n  for i in range(60): x = [x, x]\n  locals(a = x)\nf()"},
		"Starlark right to left": {"fettle.star", "x = \"\u202e\""},
		"a program's brackets":   {"fettle.star", "locals(a = expr(\"(\" * 100000))"},
		"a program's bytes":      {"fettle.star", "locals(a = \"ü\"[:1])"},
		"a program's size":       {"fettle.star", "# " + strings.Repeat("x", 1<<17)},
		"JSON lists":             {"fettle.json", deep("[", "]")},
		"JSON mappings":          {"fettle.json", strings.Repeat(`{"a":`, 100_000)},
		"JSON brackets":          {"fettle.json", `{"locals": {"a": "${` + deep("[", "]") + `}"}}`},
		"JSON control":           {"fettle.json", "{\"a\u0085\": 1}"},
		"JSON right to left":     {"fettle.json", "{\"locals\": {\"a\": \"\u202e\"}}"},
		"YAML right to left":     {"fettle.yaml", "locals: {a: \u2066x}"},
		"YAML no text":           {"fettle.yaml", "locals: {a: \xff}"},
		"a mapping with text":    {"fettle.yaml", "file: {a: {content: x}, b: y}"},
	} {
		t.Run(name, func(t *testing.T) {
			_, ds := load(map[string]string{c.file: c.text})
			if !ds.HasErrors() || ds[0].Range.Start.Line == 0 || ds[0].Range.File != c.file {
				t.Fatalf("%v", ds)
			}
		})
	}
	_, ds := load(map[string]string{"fettle.yaml": "a: " + strings.Repeat("x", syntax.MaxFile)})
	if !ds.HasErrors() || ds[0].Summary != "File too large" {
		t.Fatal(ds)
	}
}

// A big file on one line is read in time: places are not counted from its
// beginning for each value.
func TestLongLine(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"locals": {"x": [`)
	for i := range 60_000 {
		fmt.Fprintf(&b, `"${%d}",`, i)
	}
	text := strings.TrimSuffix(b.String(), ",") + "]}}"
	for _, name := range []string{"fettle.json", "fettle.yaml"} {
		if _, ds := load(map[string]string{name: text}); ds.HasErrors() {
			t.Fatal(ds.Err())
		}
	}
}

// A template may not make more text than a file may hold.
func TestRenderedSize(t *testing.T) {
	_, ds := load(map[string]string{"fettle.yaml.tmpl": `# ${repeat("x", 1048576)}`})
	if !ds.HasErrors() || ds[0].Summary != "File too large" {
		t.Fatal(ds)
	}
}

// A program has nothing but the text that it is: none of these is there.
func TestProgramsAreAlone(t *testing.T) {
	for _, text := range []string{"time.now()", "x = time", "os.getenv(\"HOME\")", "json.decode(\"1\")",
		"load(\"/etc/x.star\", \"x\")", "load(\"../x.star\", \"x\")",
		"load(\"time\", \"time\")", "load(\"//../x.star\", \"x\")", "load(\"link.star\", \"x\")", "print(1)",
		"while True: pass", "def f(): f()\nf()"} {
		tree := repo.MapTree(map[string]string{"fettle.star": text}, repo.Link("link.star", "/etc/passwd"))
		if _, ds := source.Load(tree, source.Options{Kinds: kinds.All()}); !ds.HasErrors() || ds[0].Range.Start.Line != 1 {
			t.Errorf("%s: %v", text, ds)
		}
	}
}

// The same program gives the same declarations, independent of the order of maps. Attributes from a
// mapping have no place of their own.
func TestProgramsAreSteady(t *testing.T) {
	first := ""
	for range 20 {
		_, ds := load(
			map[string]string{"fettle.star": "file(\"/a\", **{n: 1 for n in [\"oa\", \"ob\", \"oc\", \"od\", \"oe\"]})"})
		if text := ds.Err().Error(); first == "" {
			first = text
		} else if text != first {
			t.Fatalf("first\n%s\nthen\n%s", first, text)
		}
	}
}
