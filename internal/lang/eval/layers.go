package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// LayerOf reads a vars attribute. each is the element of the target or module that it belongs to, or nil.
func LayerOf(ev *Evaluator, name string, a *hclsyntax.Attribute, each *source.Element) (VariableLayer, bool) {
	l := VariableLayer{name: name, values: map[string]layerValue{}}
	element := ""
	if each != nil {
		element = ", " + each.String()
	}
	if a == nil {
		return l, true
	}
	items, hds := hcl.ExprMap(a.Expr)
	if hds.HasErrors() && each != nil {
		values, ok := ev.Program.EarlyVars(&ev.Reports, a, each)
		for n, v := range values {
			l.values[n] = layerValue{val: v, rng: syntax.RangeOf(a.Expr.Range()), from: element}
		}
		return l, ok
	}
	if hds.HasErrors() {
		ev.Errorf(syntax.RangeOf(a.Expr.Range()), "Variables are an object",
			"vars must be an object: vars = { name = value }.")
		return l, false
	}
	good := true
	top := topScope(ev)
	for _, it := range items {
		k, kds := it.Key.Value(nil)
		if kds.HasErrors() || k.Type() != cty.String {
			ev.Errorf(syntax.RangeOf(it.Key.Range()), "Bad variable name",
				"The name of a variable must be an identifier: vars = { name = value }.")
			good = false
			continue
		}
		v, _, ok := ev.evalSecret(top, each.Each(), it.Value.(hclsyntax.Expression))
		good = good && ok
		if ok {
			l.values[k.AsString()] = layerValue{val: v, rng: syntax.RangeOf(it.Key.Range()),
				from: element + snapshotsOf(top.Directory, it.Value.(hclsyntax.Expression))}
		}
	}
	return l, good
}

func commandLine(vars map[string]string) VariableLayer {
	l := VariableLayer{name: "command line", values: map[string]layerValue{}}
	for k, v := range vars {
		l.values[k] = layerValue{val: cty.StringVal(v), rng: diag.Range{File: "command line"}, text: true}
	}
	return l
}

// unknownVars reports variables that have values but no declaration.
func unknownVars(ev *Evaluator, l VariableLayer, declared map[string]bool, where string) {
	for _, name := range syntax.SortedNames(l.values) {
		if !declared[name] {
			ev.Errorf(l.values[name].rng, "Unknown variable", "%s declares a variable %q.%s", where, name,
				syntax.Suggest(name, syntax.Names(declared)))
		}
	}
}
