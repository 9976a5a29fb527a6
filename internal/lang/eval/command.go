package eval

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// CallCommand returns the parts of a command with these parameters. It reports an error if there is
// no command with that name.
func CallCommand(p *source.Program, name string, given map[string]string) ([]query.Part, diag.List) {
	c := p.Commands[name]
	if c == nil {
		return nil, diag.List{diag.Errorf(diag.Range{}, "Unknown command", "The repository has no command %q.%s", name,
			syntax.Suggest(name, syntax.Names(p.Commands)))}
	}
	p.Loops.Begin()
	ev := &Evaluator{Program: p, Catalog: &catalog.Catalog{},
		factSet: map[*source.Body]map[string]cty.Value{c.Params: {}}, Target: cty.EmptyObjectVal}
	ev.Add(query.CheckParams("the command \""+name+"\"", name, query.ParamsOf(p, c.Params), given)...)
	if ev.List.HasErrors() {
		return nil, source.Finish(p, ev.List)
	}
	var out []query.Part
	if s := callScope(ev, "command "+name, c.Params, given); s != nil {
		s.fctx = p.Pure
		for _, x := range c.Parts {
			out = append(out, evaluatePart(ev, s, c, x))
		}
	}
	return out, source.Finish(p, ev.List)
}

func evaluatePart(ev *Evaluator, s *Scope, c *source.Command, x *source.Part) query.Part {
	out := query.Part{Name: x.Name, Action: x.Action, Range: x.Range, MaxFailed: "0", Params: map[string]string{}}
	targets := x.Attributes["targets"]
	if targets == nil {
		targets = c.Targets
	}
	out.Targets = wordsOf(ev, s, targets)
	for _, a := range []struct {
		name string
		into *string
	}{{"batch", &out.Batch}, {"max_failed", &out.MaxFailed}} {
		at := x.Attributes[a.name]
		if at == nil {
			continue
		}
		*a.into = plainText(ev, s, at)
		if _, err := amount.Parse(*a.into); err != nil {
			ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Bad number of targets", "%s: %v.", a.name, err)
		}
	}
	if x.Action != "" {
		partParams(ev, s, x, &out)
		return out
	}
	partCommand(ev, s, x, &out)
	return out
}

// wordsOf returns a list of strings, or one string as a list.
func wordsOf(ev *Evaluator, s *Scope, at *hclsyntax.Attribute) []string {
	if at == nil {
		return nil
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if !ok {
		return nil
	}
	if v.Type() == cty.String && !v.IsNull() {
		return []string{v.AsString()}
	}
	list, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || list.IsNull() || list.LengthInt() == 0 {
		ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type", "%s must be a list with at least one string.", at.Name)
		return nil
	}
	return textsIn(ev, at, list)
}

// textsIn returns the elements of a list of strings. A null element is an error.
func textsIn(ev *Evaluator, at *hclsyntax.Attribute, list cty.Value) []string {
	var out []string
	for it := list.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() {
			ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type",
				"The list %s contains null. Remove the element, or make it a string.", at.Name)
			return nil
		}
		out = append(out, e.AsString())
	}
	return out
}

// plainText returns a string that does not depend on a secret, "" after a diagnostic.
func plainText(ev *Evaluator, s *Scope, at *hclsyntax.Attribute) string {
	if at == nil {
		return ""
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if !ok {
		return ""
	}
	if v, err := convert.Convert(v, cty.String); err == nil && !v.IsNull() {
		return v.AsString()
	}
	ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type", "%s must be a string.", at.Name)
	return ""
}

// partParams evaluates the parameters of the action. A parameter that a user typed as a secret
// stays a secret.
func partParams(ev *Evaluator, s *Scope, x *source.Part, out *query.Part) {
	at := x.Attributes["params"]
	if at == nil {
		return
	}
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return
	}
	if plain, _ := v.Unmark(); plain.IsNull() || !plain.Type().IsObjectType() && !plain.Type().IsMapType() {
		ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type", "params must be an object: params = { name = value }.")
		return
	}
	values := kind.Elements(v)
	for _, name := range syntax.SortedNames(values) {
		plain, marks := values[name].UnmarkDeep()
		if len(marks) > 0 {
			out.Secret = append(out.Secret, name)
		}
		if !plain.IsNull() {
			out.Params[name] = asTyped(plain)
		}
	}
}

// asTyped returns a value as a user types it on the command line: a string without quotes, a list
// or an object in the syntax of the language.
func asTyped(v cty.Value) string {
	if text, err := convert.Convert(v, cty.String); err == nil {
		return text.AsString()
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(functions.Show(v))
}

func partCommand(ev *Evaluator, s *Scope, x *source.Part, out *query.Part) {
	commands, ok := actionCommands(ev, s, x.Attributes["command"])
	if !ok {
		return
	}
	at := x.Attributes["command"]
	for _, c := range commands {
		words := wordList(c)
		if words.IsNull() || !words.Type().IsListType() || words.LengthInt() == 0 {
			ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type",
				`A command must be a list of words, such as ["systemctl", "restart", "nginx"].`)
			return
		}
		out.Argv = append(out.Argv, textsIn(ev, at, words))
	}
	out.Dir, out.User = plainText(ev, s, x.Attributes["cwd"]), plainText(ev, s, x.Attributes["user"])
	out.ReadOnly = !changesTarget(ev, s, x)
	if t := x.Attributes["timeout"]; t != nil {
		d, err := duration.Parse(plainText(ev, s, t))
		switch {
		case err != nil:
			ev.Errorf(syntax.RangeOf(t.Expr.Range()), "Invalid duration", "The attribute timeout: %s.", err)
		case d <= 0:
			ev.Errorf(syntax.RangeOf(t.Expr.Range()), "Invalid duration", "The attribute timeout must be longer than 0s.")
		}
		out.Timeout = d
	}
	if e := x.Attributes["env"]; e != nil {
		out.Env = environmentOf(ev, s, e)
	}
}

func changesTarget(ev *Evaluator, s *Scope, x *source.Part) bool {
	at := x.Attributes["changes"]
	if at == nil {
		return true
	}
	v, _, ok := ev.eval(s, nil, at.Expr)
	if ok && (v.IsNull() || v.Type() != cty.Bool) {
		ev.Errorf(syntax.RangeOf(at.Expr.Range()), "True or false expected", "Write changes = true or changes = false.")
		return true
	}
	return !ok || v.True()
}

// environmentOf returns NAME=VALUE, sorted. A value can contain a secret that a user typed.
func environmentOf(ev *Evaluator, s *Scope, at *hclsyntax.Attribute) []string {
	v, _, ok := ev.evalSecret(s, nil, at.Expr)
	if !ok {
		return nil
	}
	plain, _ := v.UnmarkDeep()
	m, err := convert.Convert(plain, cty.Map(cty.String))
	if err != nil || m.IsNull() {
		ev.Errorf(syntax.RangeOf(at.Expr.Range()), "Wrong type",
			`env must be an object of strings: env = { NAME = "value" }.`)
		return nil
	}
	var out []string
	values := m.AsValueMap()
	for _, name := range syntax.SortedNames(values) {
		if e := values[name]; !e.IsNull() && name != "" && !strings.ContainsAny(name, "=\x00") {
			out = append(out, name+"="+e.AsString())
		}
	}
	return out
}
