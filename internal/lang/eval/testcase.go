package eval

import (
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// chosen returns the target of a test: a target of the repository, or a new one with only the
// module.
func chosen(p *source.Program, t *source.Test) (*source.Target, diag.List) {
	out := &source.Target{Level: source.Level{Kind: "target", Name: "test", Range: t.Range}}
	if t.Target == nil {
		out.Uses = []*source.ModuleUse{{Name: path.Base(t.Directory), Range: t.Range, Directory: t.Directory}}
	} else {
		r := &syntax.Reports{}
		v, ok := p.Early(r, t.Target.Expr, cty.String)
		if !ok {
			return nil, r.List
		}
		known, ds := query.Choose(p, v.AsString())
		for i := range ds {
			ds[i].Range = syntax.RangeOf(t.Target.Expr.Range())
		}
		if known == nil {
			return nil, ds
		}
		*out = *known
		out.Placed = source.Placed{}
	}
	if t.Labels != nil {
		out.Labels = t.Labels
	}
	return out, nil
}

// factsOfTest returns the facts of a test; no other facts exist.
func factsOfTest(ev *Evaluator, t *source.Test) map[string]cty.Value {
	if t.Facts == nil {
		return nil
	}
	v, hds := t.Facts.Expr.Value(ev.Program.Pure)
	ev.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		ev.Errorf(syntax.RangeOf(t.Facts.Expr.Range()), "Facts are an object",
			`facts must be an object: facts = { os_codename = "bookworm" }.`)
		return nil
	}
	facts := v.AsValueMap()
	for _, name := range syntax.SortedNames(facts) {
		source.CheckFact(&ev.Reports, name, syntax.RangeOf(t.Facts.Expr.Range()))
	}
	return facts
}

// secretsOfTest returns the secrets of a test, which replace the repository's.
func secretsOfTest(ev *Evaluator, t *source.Test) map[string]string {
	if t == nil {
		return nil
	}
	return textsOfTest(ev, t.Secrets, "Secrets are an object of strings",
		`secrets must be an object of strings: secrets = { "db/password" = "for the test" }.`)
}

// outputsOfTest returns the outputs of commands, by the names of their states as seen from the top.
func outputsOfTest(ev *Evaluator, t *source.Test) map[string]string {
	out := map[string]string{}
	if t == nil {
		return out
	}
	for name, text := range textsOfTest(ev, t.Outputs, "Outputs are an object of strings",
		`outputs must be an object of strings: outputs = { "exec.certificate" = "the output" }.`) {
		if prefix := t.Prefix(); !strings.HasPrefix(name, prefix) {
			name = prefix + name
		}
		out[name] = text
	}
	return out
}

// unusedOutputs refuses outputs of a test that belong to no command, or that nothing uses.
func unusedOutputs(ev *Evaluator, t *source.Test) {
	if t == nil {
		return
	}
	var asked []string
	for _, id := range syntax.SortedNames(ev.asked) {
		if strings.HasPrefix(id, "exported.") {
			continue
		}
		asked = append(asked, strings.TrimPrefix(id, t.Prefix()))
	}
	for _, id := range syntax.SortedNames(ev.outputs) {
		if name := strings.TrimPrefix(id, t.Prefix()); !ev.asked[id] {
			ev.Errorf(syntax.RangeOf(t.Outputs.Expr.Range()), "Unused output in a test",
				"No state of the test uses the result of %s. Remove it from outputs.%s", name, syntax.Suggest(name, asked))
		}
	}
	all, rng, _ := exportedOfTest(ev)
	for _, name := range syntax.SortedNames(all) {
		if !ev.asked["exported."+name] {
			ev.Errorf(rng, "Unused exported values in a test",
				"No state of the test uses exported.%s. Remove it from exported.", name)
		}
	}
}

func textsOfTest(ev *Evaluator, a *hclsyntax.Attribute, summary, example string) map[string]string {
	if a == nil {
		return nil
	}
	v, hds := a.Expr.Value(ev.Program.Pure)
	ev.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil
	}
	m, err := convert.Convert(v, cty.Map(cty.String))
	if err != nil || m.IsNull() || !m.IsWhollyKnown() {
		ev.Errorf(syntax.RangeOf(a.Expr.Range()), summary, "%s", example)
		return nil
	}
	out := map[string]string{}
	for k, e := range m.AsValueMap() {
		if !e.IsNull() {
			out[k] = e.AsString()
		}
	}
	return out
}
