package query

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/source"
)

// TargetValue returns the value of `target` in expressions.
func TargetValue(name string, texts map[string]string, levels []*source.Level) cty.Value {
	labels := cty.MapValEmpty(cty.String)
	if len(texts) > 0 {
		m := map[string]cty.Value{}
		for k, v := range texts {
			m[k] = cty.StringVal(v)
		}
		labels = cty.MapVal(m)
	}
	named := func(what string) cty.Value {
		out := []cty.Value{}
		for _, l := range levels {
			if l.Kind == what {
				out = append(out, cty.StringVal(l.Name))
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(cty.String)
		}
		return cty.ListVal(out)
	}
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "labels": labels, "roles": named("role"),
		"groups": named("target_group")})
}
