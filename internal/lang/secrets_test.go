package lang

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

// arguments are values of which a function may like one: texts in several forms,
// numbers, and collections of them.
func arguments() []cty.Value {
	s, list := cty.StringVal, []cty.Value{cty.StringVal("7"), cty.StringVal("b")}
	object := cty.ObjectVal(map[string]cty.Value{"a": s("7"), "b": s("c")})
	return []cty.Value{
		s("7"), cty.NumberIntVal(1), cty.NumberIntVal(10), cty.True, s("a"), s(`{"a":"7"}`), s("YQ=="), s("a,b\n7,8"), s("%s"), s("yes"),
		cty.ListVal(list), cty.SetVal(list), object, cty.MapVal(map[string]cty.Value{"a": s("7")}), cty.TupleVal(list),
		cty.ListVal([]cty.Value{cty.ListVal(list)}), cty.ListVal([]cty.Value{cty.NumberIntVal(1)}), cty.ListVal([]cty.Value{object}),
	}
}

// TestEveryFunctionKeepsTheMark: the result of every function with a secret argument, or a secret
// inside an argument, is secret.
func TestEveryFunctionKeepsTheMark(t *testing.T) {
	mark := secret.Mark{Key: secret.NewKey()}
	for name, fn := range pureFunctions() {
		if name == "try" || name == "can" { // take expressions: below
			continue
		}
		tried := 0
		for _, n := range counts(fn) {
			combine(arguments(), n, func(args []cty.Value) {
				if _, err := fn.Call(args); err != nil || tried > 300 {
					return
				}
				for i := range args {
					for _, a := range marked(args[i], mark) {
						with := append(append([]cty.Value{}, args[:i]...), a)
						with = append(with, args[i+1:]...)
						v, err := fn.Call(with)
						tried++
						if err == nil && !v.ContainsMarked() && !tellsNothing(name, a) && (name != "lookup" || i < 2) {
							t.Errorf("%s(%#v) forgets that argument %d is secret: %#v", name, args, i, v)
						}
					}
				}
			})
		}
		if tried == 0 {
			t.Errorf("nothing was found to call %s with", name)
		}
	}
}

// tellsNothing are the ways in which the elements of a value do not matter.
func tellsNothing(name string, v cty.Value) bool {
	if v.IsMarked() {
		return false
	}
	switch name {
	case "length", "keys", "element", "slice", "lookup", "index", "coalescelist", "chunklist", "concat", "coalesce", "merge", "range", "zipmap", "values", "reverse":
		return true // they return a part of their argument and keep the mark of that part
	}
	return false
}

// marked are the ways to mark a value: as a whole, and one element of it.
func marked(v cty.Value, mark any) []cty.Value {
	out := []cty.Value{v.Mark(mark)}
	switch {
	case v.Type().IsListType():
		out = append(out, cty.ListVal([]cty.Value{v.AsValueSlice()[0].Mark(mark)}))
	case v.Type().IsObjectType():
		m := v.AsValueMap()
		m["a"] = m["a"].Mark(mark)
		out = append(out, cty.ObjectVal(m))
	}
	return out
}

// counts are the numbers of arguments that a function takes, few of them.
func counts(fn function.Function) []int {
	n := len(fn.Params())
	if fn.VarParam() != nil {
		return []int{n + 1, n + 2}
	}
	return []int{n}
}

func combine(from []cty.Value, n int, each func([]cty.Value)) {
	args := make([]cty.Value, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			each(args)
			return
		}
		for _, v := range from {
			args[i] = v
			fill(i + 1)
		}
	}
	fill(0)
}

// TestSecretsInExpressions: every form of an expression keeps the mark too.
func TestSecretsInExpressions(t *testing.T) {
	for _, e := range []string{
		`secret("pw")`, `"a${secret("pw")}b"`, `upper(secret("pw"))`, `[for x in [secret("pw")] : x][0]`, `{ for k, v in { a = secret("pw") } : k => v }["a"]`,
		`secret("pw") == "x" ? "y" : "z"`, `true ? secret("pw") : ""`, `{ a = { b = secret("pw") } }.a.b`, `[secret("pw")][0]`, `try(secret("pw"), "x")`,
		`try({ a = secret("pw") }.b, secret("pw"))`, `"%{ if true }${secret("pw")}%{ endif }"`, `"%{ for x in [secret("pw")] }${x}%{ endfor }"`,
		`join(",", [{ a = secret("pw") }][*].a)`, `"${strlen(secret("pw"))}"`, `tostring(secret("pw") != "x")`, `local.l`, `jsondecode(jsonencode({ a = secret("pw") })).a`,
		`templatefile("t.tmpl", {})`, `templatefile("u.tmpl", { x = secret("pw") })`, `sha256(secret("pw"))`, `var.v`,
	} {
		p, ds := Load(repo.MapTree(map[string]string{
			"secrets/pw.age": "x", "t.tmpl": "${secret(\"pw\")}", "u.tmpl": "${x}",
			"fettle.hcl": "target \"a\" {}\nvariable \"v\" { default = secret(\"pw\") }\nlocals {\n l = secret(\"pw\")\n x = " + e + "\n}\n",
		}), Options{})
		if ds.HasErrors() {
			t.Fatal(ds)
		}
		ev, ds := p.evaluate(Input{}, nil)
		if ev == nil {
			t.Fatal(ds)
		}
		m := ev.local(ev.all[0], "x")
		if !m.ok || !m.val.ContainsMarked() {
			t.Errorf("%s is no secret: %v %#v", e, ev.list, m.val)
		}
		if _, _, ok := ev.eval(ev.all[0], nil, ev.all[0].body.locals["x"].Expr); ok {
			t.Errorf("%s may stand where no secret may", e)
		}
	}
}

// TestTellsNoSecret: the text of an error does not repeat what it is about.
func TestTellsNoSecret(t *testing.T) {
	for _, e := range []string{`parseint(secret("pw"), 10)`, `parseint(upper(secret("pw")), 10)`, `{ a = 1 }[secret("pw")]`, `{ a = 1 }[upper(secret("pw"))]`, `jsondecode(secret("pw"))`} {
		p, _ := Load(repo.MapTree(map[string]string{"secrets/pw.age": "x", "fettle.hcl": "target \"a\" {}\nlocals { x = " + e + " }\n"}), Options{})
		ev, _ := p.evaluate(Input{}, nil)
		ev.local(ev.all[0], "x")
		text := finish(p, ev.list).Err().Error()
		for _, d := range ev.list {
			text += d.Summary + d.Detail
		}
		if strings.Contains(strings.ToLower(text), "placeholder of") {
			t.Errorf("%s: %s", e, text)
		}
	}
}
