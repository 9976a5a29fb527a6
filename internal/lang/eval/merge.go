package eval

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// mergesOf reads a level's merge = { NAME = "deep" }.
func mergesOf(ev *Evaluator, l *source.Level) (map[string]string, bool) {
	a := l.Merge
	if a == nil {
		return nil, true
	}
	v, ok := ev.Program.EarlyIn(&ev.Reports, l, a.Expr, cty.Map(cty.String))
	if !ok {
		return nil, false
	}
	out, good := map[string]string{}, true
	for name, how := range v.AsValueMap() {
		if how.IsNull() {
			ev.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad merge",
				`merge must be an object from names of variables to methods: merge = { %s = "deep" }.`, name)
			good = false
			continue
		}
		ds := source.CheckMerge(syntax.RangeOf(a.Expr.Range()), how.AsString())
		ev.Add(ds...)
		out[name], good = how.AsString(), good && ds == nil
	}
	return out, good
}

// givenValue returns the value of a variable: the value of the highest layer, merged with lower values
// as the layer or, by default, the variable specifies. rng is the place of the highest value.
func givenValue(ev *Evaluator, s *Scope, v *source.Variable,
	layers []VariableLayer) (val cty.Value, rng diag.Range, ok bool) {
	found := false
	if v.Default != nil {
		if val, ok = variableDefault(ev, s.body, v); !ok {
			return val, rng, false
		}
		found, rng = true, syntax.RangeOf(v.Default.Range())
	}
	for _, l := range layers {
		lv, has := l.values[v.Name]
		if !has {
			continue
		}
		next := lv.val
		if lv.text {
			if next, ok = fromText(ev, v, lv); !ok {
				return val, rng, false
			}
			if v.Secret {
				next = next.Mark(typed{})
			}
		}
		if how := l.merges(v); found && how != "" {
			if next, ok = joinValues(ev, v, val, next, how == source.MergeDeep, lv.rng); !ok {
				return val, rng, false
			}
		}
		val, rng, found = next, lv.rng, true
	}
	if !found {
		ev.Errorf(v.Range, "Variable without a value",
			"The variable %q of %s has no default, and no level sets it. Set it in vars of the target, in vars at the top of fettle.hcl, "+
				"or with --var %s=….", v.Name, s.name, v.Name)
	}
	return val, rng, found
}

// merges returns the method that merges the value of a layer with lower values, "" if it replaces
// them.
func (l VariableLayer) merges(v *source.Variable) string {
	how := l.merge[v.Name]
	if how == "" {
		how = v.Merge
	}
	if how == source.ReplaceBelow {
		return ""
	}
	return how
}

// joinValues merges the value of a layer with the value of the lower layers.
func joinValues(ev *Evaluator, v *source.Variable, below, above cty.Value, deep bool,
	rng diag.Range) (cty.Value, bool) {
	for _, x := range []cty.Value{below, above} {
		if !isObject(x) {
			ev.Errorf(rng, "Values cannot be merged",
				"The values of the variable %q from several levels are merged, so all must be objects, and one is %s. Write merge = { %s = %q }, "+
					"or use objects.", v.Name, diag.One(x.Type().FriendlyName()), v.Name, source.ReplaceBelow)
			return above, false
		}
	}
	return merged(below, above, deep), true
}

func isObject(v cty.Value) bool {
	return !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

func merged(below, above cty.Value, deep bool) cty.Value {
	out := map[string]cty.Value{}
	maps.Copy(out, kind.Elements(below))
	for k, x := range kind.Elements(above) {
		if old, ok := out[k]; ok && deep && isObject(old) && isObject(x) {
			x = merged(old, x, true)
		}
		out[k] = x
	}
	return cty.ObjectVal(out)
}

// typed is the mark of a secret parameter's value that a user typed. No key encrypts it. The caller
// removes the value before any further use.
type typed struct{}
