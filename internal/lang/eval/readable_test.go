package eval_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Characters that are invisible to a reviewer are refused, with their place.
func TestSourceIsWhatItShows(t *testing.T) {
	for text, want := range map[string]string{
		"# ok\na = \"\xff\"":        "fettle.hcl:2:6: error: File is not text",
		"/*\n\u202e */":             "fettle.hcl:2:1: error: Invisible character",
		"# é \u2066":                "fettle.hcl:1:5: error: Invisible character",
		"a = \"\x1b[31m\"":          "fettle.hcl:1:6: error: Control character",
		"# \u009b":                  "fettle.hcl:1:3: error: Control character",
		"# a\rb":                    "fettle.hcl:1:4: error: Control character",
		"# \x00":                    "fettle.hcl:1:3: error: Control character",
		"locals {\r\n\ta = 1\r\n}":  "",
		"# \u05e9\u200f \U0001f600": "",
	} {
		_, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": text}), source.Options{})
		if want == "" && !ds.HasErrors() {
			continue
		}
		if want == "" || len(ds) != 1 || !strings.HasPrefix(ds[0].String(), want) {
			t.Errorf("%q: %v, want %s", text, ds, want)
		}
	}
}

// A diagnostic does not repeat the whole text that it concerns.
func TestDiagnosticsStaySmall(t *testing.T) {
	_, ds := source.Load(repo.MapTree(map[string]string{"fettle.hcl": "locals { a = x" + strings.Repeat(".0",
		300_000) + " }\n"}), source.Options{})
	for _, d := range ds {
		if len(d.Detail) > 4<<10 {
			t.Errorf("%d bytes", len(d.Detail))
		}
	}
	if !ds.HasErrors() {
		t.Error("it loads")
	}
}
