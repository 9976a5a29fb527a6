package eval

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// exportedRef puts exported.NAME into the tree.
func (ev *Evaluator) exportedRef(s *Scope, t hcl.Traversal, tree *names) bool {
	m := s.Module()
	name, ok := syntax.StepName(t, 1)
	e := m.body.Exported[name]
	if !ok || e == nil {
		ev.Errorf(syntax.RangeOf(t.SourceRange()), "Exported block is not declared",
			`Values of other targets are inputs: declare them in the module that uses them.%s Write: `+
				`exported %q { module = "web" }.`, syntax.Suggest(name, syntax.Names(m.body.Exported)), name)
		return false
	}
	ev.observed.read(Reading{Foreign: true})
	memo := ev.exported[e]
	if memo == nil {
		memo = &exportedMemo{}
		memo.val, memo.ok = exportedValue(ev, m, e)
		ev.exported[e] = memo
	}
	if memo.ok {
		tree.set([]string{"exported", name}, memo.val)
	}
	return memo.ok
}

// exportedValue returns the values by target. The map is unknown while too few targets have
// reported.
func exportedValue(ev *Evaluator, m *Scope, e *source.Exported) (cty.Value, bool) {
	typ, ok := query.TypeOfExported(ev.Program, &syntax.Reports{}, e) // errors are reported for the module
	if !ok {
		return cty.NilVal, false
	}
	vals, ok := exportedValues(ev, e, typ)
	switch {
	case !ok:
		return cty.NilVal, false
	case len(vals) < e.AtLeast:
		ev.Catalog.Waits = append(ev.Catalog.Waits, catalog.Wait{Prefix: m.Prefix, Text: waitsFor(e, len(vals))})
		return cty.UnknownVal(cty.Map(typ)).RefineNotNull(), true
	case len(vals) == 0:
		return cty.MapValEmpty(typ), true
	}
	return cty.MapVal(vals), true
}

// waitsFor describes which targets have not reported yet, as far as the input names them.
func waitsFor(e *source.Exported, have int) string {
	what := path.Base(e.Module) + "." + e.Output
	if plain := !slices.ContainsFunc(e.Targets, func(s string) bool {
		return strings.ContainsAny(s,
			"*?[/\\")
	}); plain && len(e.Targets) > 0 {
		return fmt.Sprintf("waiting for %s to report %s", strings.Join(e.Targets, " or "), what)
	}
	if e.AtLeast == 1 {
		return "waiting for a target to report " + what
	}
	return fmt.Sprintf("waiting for %d targets to report %s (%d have)", e.AtLeast, what, have)
}

func exportedValues(ev *Evaluator, e *source.Exported, typ cty.Type) (map[string]cty.Value, bool) {
	if ev.in.Test != nil {
		return valuesOfTest(ev, e, typ)
	}
	g := ev.Program.GivenTables()
	if ev.Add(g.Errors...); g.Errors.HasErrors() {
		return nil, false
	}
	if !g.Known {
		ev.Add(diag.Warningf(e.Range, "Values of other targets are not known",
			"Only a hub and its agents have the values of other targets. Outside of a fleet fettle reads them from %s, which does not exist, "+
				"so exported.%s is empty. To write the file, run: fettle export list --snapshot.", exported.File, e.Name))
	}
	out := map[string]cty.Value{}
	t := g.Table(e)
	if t == nil {
		return out, true
	}
	selects := e.Selector()
	for _, v := range t.Values {
		if !selects(v.Target, v.Labels, ev.Catalog.Labels) {
			continue
		}
		val, err := exported.ValueOf(v.Value, typ)
		if err != nil {
			ev.Errorf(e.Range, "Exported value of a different type",
				"%s The target %s exported the value as %q of %s.", syntax.Sentence(err), v.Key(), e.Output, e.Module)
			return nil, false
		}
		out[v.Key()] = val
	}
	return out, true
}

// valuesOfTest returns the values that a test provides. All of them are selected.
func valuesOfTest(ev *Evaluator, e *source.Exported, typ cty.Type) (map[string]cty.Value, bool) {
	out := map[string]cty.Value{}
	all, rng, ok := exportedOfTest(ev)
	ev.asked["exported."+e.Name] = true
	v, given := all[e.Name]
	if !ok || !given {
		return out, ok
	}
	m, err := convert.Convert(v, cty.Map(typ))
	if err != nil || m.IsNull() || !m.IsWhollyKnown() {
		ev.Errorf(rng, "Wrong type",
			"The values of the test for %q must be an object with a %s for each target: "+
				"exported = { %s = { web1 = … } }.", e.Name, typ.FriendlyName(), e.Name)
		return nil, false
	}
	return m.AsValueMap(), true
}

// exportedOfTest returns the values of a test, by the name of the input.
func exportedOfTest(ev *Evaluator) (map[string]cty.Value, diag.Range, bool) {
	a := ev.in.Test.Exported
	if a == nil {
		return nil, diag.Range{}, true
	}
	rng := syntax.RangeOf(a.Expr.Range())
	v, hds := a.Expr.Value(ev.Program.Pure)
	if hds.HasErrors() {
		ev.Add(syntax.FromHCL(hds)...)
		return nil, rng, false
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		ev.Errorf(rng, "Exported values are an object",
			`exported must be an object of objects: exported = { backends = { web1 = "10.0.0.1" } }.`)
		return nil, rng, false
	}
	return v.AsValueMap(), rng, true
}
