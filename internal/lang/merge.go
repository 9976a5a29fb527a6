package lang

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// The ways to merge a value with the values of lower layers.
const (
	replaceBelow = "replace" // the value replaces all lower values; the default
	mergeShallow = "shallow" // the value's keys replace lower keys; other keys remain
	mergeDeep    = "deep"    // like shallow, but also in nested objects
)

// checkMerge reports an unknown merge method.
func checkMerge(rng diag.Range, how string) diag.List {
	ways := []string{replaceBelow, mergeShallow, mergeDeep}
	if contains(ways, how) {
		return nil
	}
	return diag.List{diag.Errorf(rng, "Bad merge", "%q is not a merge method. Use one of %s.%s", how, strings.Join(ways, ", "), Near(how, ways))}
}

// merges reads a level's merge = { NAME = "deep" }.
func (ev *evaluator) merges(a *hclsyntax.Attribute) (map[string]string, bool) {
	if a == nil {
		return nil, true
	}
	v, ok := ev.prog.early(&ev.reports, a.Expr, cty.Map(cty.String))
	if !ok {
		return nil, false
	}
	out, good := map[string]string{}, true
	for name, how := range v.AsValueMap() {
		if how.IsNull() {
			ev.errorf(rangeOf(a.Expr.Range()), "Bad merge",
				`merge must be an object from names of variables to methods: merge = { %s = "deep" }.`, name)
			good = false
			continue
		}
		ds := checkMerge(rangeOf(a.Expr.Range()), how.AsString())
		ev.add(ds...)
		out[name], good = how.AsString(), good && ds == nil
	}
	return out, good
}

// given returns the value of a variable: the value of the highest layer, merged with lower values
// as the layer or, by default, the variable specifies. rng is the place of the highest value.
func (ev *evaluator) given(s *scope, v *variable, layers []layer) (val cty.Value, rng diag.Range, ok bool) {
	found := false
	if v.def != nil {
		if val, ok = ev.variableDefault(s.body, v); !ok {
			return val, rng, false
		}
		found, rng = true, rangeOf(v.def.Range())
	}
	for _, l := range layers {
		lv, has := l.values[v.name]
		if !has {
			continue
		}
		next := lv.val
		if lv.text {
			if next, ok = ev.fromText(v, lv); !ok {
				return val, rng, false
			}
			if v.secret {
				next = next.Mark(typed{})
			}
		}
		if how := l.merges(v); found && how != "" {
			if next, ok = ev.join(v, val, next, how == mergeDeep, lv.rng); !ok {
				return val, rng, false
			}
		}
		val, rng, found = next, lv.rng, true
	}
	if !found {
		ev.errorf(v.rng, "Variable without a value",
			"The variable %q of %s has no default, and no level sets it. Set it in vars of the target, in vars at the top of fettle.hcl, "+
				"or with --var %s=….", v.name, s.name, v.name)
	}
	return val, rng, found
}

// merges returns the method that merges the value of a layer with lower values, "" if it replaces
// them.
func (l layer) merges(v *variable) string {
	how := l.merge[v.name]
	if how == "" {
		how = v.merge
	}
	if how == replaceBelow {
		return ""
	}
	return how
}

// join merges the value of a layer with the value of the lower layers.
func (ev *evaluator) join(v *variable, below, above cty.Value, deep bool, rng diag.Range) (cty.Value, bool) {
	for _, x := range []cty.Value{below, above} {
		if !isObject(x) {
			ev.errorf(rng, "Values cannot be merged",
				"The values of the variable %q from several levels are merged, so all must be objects, and one is %s. Write merge = { %s = %q }, "+
					"or use objects.", v.name, diag.One(x.Type().FriendlyName()), v.name, replaceBelow)
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
	maps.Copy(out, valueMap(below))
	for k, x := range valueMap(above) {
		if old, ok := out[k]; ok && deep && isObject(old) && isObject(x) {
			x = merged(old, x, true)
		}
		out[k] = x
	}
	return cty.ObjectVal(out)
}
