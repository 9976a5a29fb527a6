package eval_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/kind/kinds"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/format"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// killers are shapes that overflow the parser's stack when they are repeated
// often enough. A guard that lets one through ends the test process.
func killers(n int) map[string]string {
	r := strings.Repeat
	return map[string]string{
		"brackets":    "locals {\n a = " + r("[", n) + r("]", n) + "\n}\n",
		"parentheses": "locals {\n a = " + r("(", n) + "1" + r(")", n) + "\n}\n",
		"not":         "locals {\n a = " + r("!", n) + "true\n}\n",
		"minus":       "locals {\n a = " + r("-", n) + "1\n}\n",
		"plus":        "locals {\n a = " + r("1+", n) + "1\n}\n",
		"ternaries":   "locals {\n a = " + r("true?1:", n) + "1\n}\n",
		"templates":   "locals {\n a = " + r("\"${", n) + "1" + r("}\"", n) + "\n}\n",
		"blocks":      r("a{", n) + r("}", n) + "\n",
		"calls":       "locals {\n a = " + r("f(", n) + r(")", n) + "\n}\n",
		"indexes":     "locals {\n a = b" + r("[0]", n) + "\n}\n",
		"attributes":  "locals {\n a = b" + r(".c", n) + "\n}\n",
		"objects":     "locals {\n a = " + r("{a=", n) + "1" + r("}", n) + "\n}\n",
		"directives":  "locals {\n a = \"" + r("%{if true}", n) + r("%{endif}", n) + "\"\n}\n",
		"newlines":    "locals {\n a = (" + r("!\n", n) + "true)\n}\n",
	}
}

func TestKillersAreRefused(t *testing.T) {
	for _, n := range []int{2_000, 100_000, 1_000_000} {
		for name, text := range killers(n) {
			_, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text}), source.Options{})
			if !ds.HasErrors() {
				t.Errorf("%d %s: no diagnostic", n, name)
				continue
			}
			d := ds[0]
			small := len(text) <= syntax.MaxFile
			if d.Range.File != "fettle.hcl" || small && (d.Range.Start.Line == 0 || d.Summary != "Too deeply nested") {
				t.Errorf("%d %s: %v", n, name, d)
			}
			if n != 2_000 {
				continue
			}
			if _, ds := format.Source([]byte(text), "x.hcl"); !ds.HasErrors() {
				t.Errorf("%s: formatted", name)
			}
		}
	}
}

// Normal configurations are far below the limits.
func TestGuardLetsWorkThrough(t *testing.T) {
	r := strings.Repeat
	for name, text := range map[string]string{
		"long list":     "locals {\n a = [" + r("-1, local.b, ", 5000) + "1]\n}\n",
		"long object":   "locals {\n a = {\n" + r("  x = -1 + 2 * 3\n", 5000) + "}\n}\n",
		"long template": "locals {\n a = <<EOT\n" + r("${1 + 2} and %{if true}x%{endif}\n", 5000) + "EOT\n}\n",
		"deep":          "locals {\n a = " + r("[", 150) + r("]", 150) + "\n}\n",
		"sum":           "locals {\n a = " + r("1 + ", 900) + "1\n}\n",
	} {
		_, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text}), source.Options{})
		for _, d := range ds {
			if strings.HasPrefix(d.Summary, "Too deeply") || strings.HasPrefix(d.Summary, "File too") {
				t.Errorf("%s: %v", name, d)
			}
		}
	}
}

// Templates and values of the command line come from outside as well.
func TestKillersInTemplatesAndValues(t *testing.T) {
	r := strings.Repeat
	for name, text := range map[string]string{
		"brackets":   "${" + r("[", 300_000) + r("]", 300_000) + "}",
		"nested":     r("${\"", 200_000) + r("\"}", 200_000),
		"directives": r("%{if true}", 50_000) + r("%{endif}", 50_000),
		"too large":  r("x", syntax.MaxFile+1),
	} {
		tree := repo.MapTree(map[string]string{"fettle.hcl": "file \"/etc/x\" { content = templatefile(\"t\", {}) }\n",
			"t": text})
		p, ds := source.Load(tree, source.Options{Kinds: kinds.All()})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		if _, ds := eval.Catalog(p, eval.Input{}); !ds.HasErrors() || ds[0].Range.File != "t" || len(ds[0].Trace) != 1 {
			t.Errorf("%s: %v", name, ds)
		}
	}
	p, _ := source.Load(repo.MapTree(map[string]string{"fettle.hcl": "variable \"v\" { type = list(string) }\n"}),
		source.Options{})
	if _, ds := eval.Catalog(p, eval.Input{Vars: map[string]string{"v": r("[", 100_000)}}); !ds.HasErrors() {
		t.Error("a deep value of the command line goes through")
	}
}

// A few lines must not become more states than a host can have.
func TestStateLimit(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "file \"x\" {\n  for_each = merge([for i in range(450) : { " +
		"for j in range(450) : \"${i}-${j}\" => 1 }]...)\n  path = \"/etc/${each.key}\"\n  content = \"\"\n}\n"})
	p, ds := source.Load(tree, source.Options{Kinds: kinds.All()})
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	if _, ds := eval.Catalog(p, eval.Input{}); !ds.HasErrors() || ds[0].Summary != "Too many states" {
		t.Error(ds)
	}
}
