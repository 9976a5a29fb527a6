package explain

import (
	"bytes"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/ui/cli"
)

// The element and the block with for_each that made a target are shown.
func TestExplainMadeTarget(t *testing.T) {
	var out bytes.Buffer
	x := query.Target{Name: "web-a", Labels: map[string]string{"env": "prod", "dc": "x"}, Roles: []string{"web"},
		Environment: "staging",
		Range:       diag.Range{File: "fettle.hcl", Start: diag.Pos{Line: 3}},
		Element:     &query.Element{Block: "web", Key: "a", Value: `{"port":80}`}}
	if err := showTarget(&cli.Printer{App: &cli.App{Stdout: &out}}, x); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"target web-a\n", `declared     fettle.hcl:3: element "a" of for_each of target "web"`,
		`parameters   {"port":80}` + "\n",
		"labels       dc=x, env=prod\n", "roles        web\n",
		"environment  staging\n", "fettle explain var NAME -t web-a\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
}

// The declaration of a scope is shown with the element that made it.
func TestExplainMadeScope(t *testing.T) {
	x := query.Scope{Kind: "environment", Name: "staging", Targets: []string{"a", "b"}, Source: "fettle.hcl:3",
		Environment: query.Environment{Domain: "staging.example.org"}, Checks: []query.ScopeCheck{{Name: "shop"}},
		Element: &query.Element{Block: "stage", Key: "staging", Value: `{"size":2}`}}
	var out, text bytes.Buffer
	if err := showScope(&cli.Printer{App: &cli.App{Stdout: &out}}, x); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"scope environment/staging\n", `fettle.hcl:3: element "staging" of for_each of "stage"`,
		`parameters  {"size":2}` + "\n", "domain      staging.example.org\n", "members     a, b\n", "checks      shop\n",
		"Only a hub has its verdict"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	p := &cli.Printer{App: &cli.App{Stdout: &text}}
	p.JSON = true
	if err := showScope(p, x); err != nil || !strings.Contains(text.String(), `"parameters":`) {
		t.Error(err, text.String())
	}
}
