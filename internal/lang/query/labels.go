package query

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// TargetLabels returns the labels of a target. They are read-only.
func TargetLabels(p *source.Program, r *syntax.Reports, t *source.Target) map[string]string {
	if t.Placed.Labels != nil {
		return t.Placed.Labels
	}
	own := &syntax.Reports{}
	out := evalLabels(p, own, t)
	if r.Add(own.List...); len(own.List) == 0 {
		t.Placed.Labels = out
	}
	return out
}

// evalLabels evaluates labels, whose values can use functions. Labels of the repository override
// labels of the enrolment.
func evalLabels(p *source.Program, r *syntax.Reports, t *source.Target) map[string]string {
	out := map[string]string{}
	if t.Each != nil {
		p.Loops.Begin() // the loops of one target do not count for the next one
	}
	if t.Enrolled != nil {
		addLabels(p, r, &source.Level{}, t.Enrolled.Labels, out)
	}
	addLabels(p, r, &t.Level, t.Labels, out)
	return out
}

func addLabels(p *source.Program, r *syntax.Reports, l *source.Level, a *hclsyntax.Attribute, out map[string]string) {
	if a == nil {
		return
	}
	v, ok := p.EarlyIn(r, l, a.Expr, cty.Map(cty.String))
	if !ok {
		return
	}
	for k, e := range v.AsValueMap() {
		if e.IsNull() {
			r.Errorf(syntax.RangeOf(a.Expr.Range()), "Label without a value", "The label %q is null. Set it to a string.", k)
			continue
		}
		out[k] = e.AsString()
	}
}
