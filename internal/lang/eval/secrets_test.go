package eval

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// TestSecretsInExpressions: every form of an expression keeps the mark too.
func TestSecretsInExpressions(t *testing.T) {
	for _, e := range []string{
		`secret("pw")`, `"a${secret("pw")}b"`, `upper(secret("pw"))`, `[for x in [secret("pw")] : x][0]`,
		`{ for k, v in { a = secret("pw") } : k => v }["a"]`,
		`secret("pw") == "x" ? "y" : "z"`, `true ? secret("pw") : ""`, `{ a = { b = secret("pw") } }.a.b`,
		`[secret("pw")][0]`, `try(secret("pw"), "x")`,
		`try({ a = secret("pw") }.b, secret("pw"))`, `"%{ if true }${secret("pw")}%{ endif }"`,
		`"%{ for x in [secret("pw")] }${x}%{ endfor }"`,
		`join(",", [{ a = secret("pw") }][*].a)`, `"${strlen(secret("pw"))}"`, `tostring(secret("pw") != "x")`, `local.l`,
		`jsondecode(jsonencode({ a = secret("pw") })).a`,
		`templatefile("t.tmpl", {})`, `templatefile("u.tmpl", { x = secret("pw") })`, `sha256(secret("pw"))`, `var.v`,
	} {
		p, ds := source.Load(repo.MapTree(map[string]string{
			"secrets/pw.age": "x", "t.tmpl": "${secret(\"pw\")}", "u.tmpl": "${x}",
			"fettle.hcl": "target \"a\" {}\nvariable \"v\" { default = secret(\"pw\") }\nlocals {\n l = secret(\"pw\")\n x = " + e + "\n}\n",
		}), source.Options{})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		ev, ds := evaluate(p, Input{}, nil)
		if ev == nil {
			t.Fatal(ds)
		}
		m := ev.local(ev.All[0], "x")
		if !m.OK || !m.Value.ContainsMarked() {
			t.Errorf("%s is no secret: %v %#v", e, ev.List, m.Value)
		}
		if _, _, ok := ev.eval(ev.All[0], nil, ev.All[0].body.Locals["x"].Expr); ok {
			t.Errorf("%s may stand where no secret may", e)
		}
	}
}

// TestTellsNoSecret: the text of an error contains no secret.
func TestTellsNoSecret(t *testing.T) {
	for _, e := range []string{`parseint(secret("pw"), 10)`, `parseint(upper(secret("pw")), 10)`,
		`{ a = 1 }[secret("pw")]`, `{ a = 1 }[upper(secret("pw"))]`, `jsondecode(secret("pw"))`} {
		p, _ := source.Load(repo.MapTree(map[string]string{"secrets/pw.age": "x",
			"fettle.hcl": "target \"a\" {}\nlocals { x = " + e + " }\n"}), source.Options{})
		ev, _ := evaluate(p, Input{}, nil)
		ev.local(ev.All[0], "x")
		text := source.Finish(p, ev.List).Err().Error()
		for _, d := range ev.List {
			text += d.Summary + d.Detail
		}
		if strings.Contains(strings.ToLower(text), "placeholder of") {
			t.Errorf("%s: %s", e, text)
		}
	}
}
