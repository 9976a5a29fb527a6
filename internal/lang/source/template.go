package source

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// maxTemplates is the maximum depth of templates that render templates.
const maxTemplates = 16

// Template renders a template file of the directory. It can only use vars and functions; a value is
// never parsed as a template. The result has the marks of the secrets in it.
func (f *Directory) Template(p string, vars map[string]cty.Value) (cty.Value, diag.List) {
	src, err := f.ReadFile(p)
	if err != nil {
		return cty.NilVal, diag.List{diag.Errorf(diag.Range{}, "Template cannot be read", "%s", syntax.Sentence(err))}
	}
	name := f.Source(p)
	expr, ds := f.prog.template(name, src)
	if ds.HasErrors() {
		return cty.NilVal, ds
	}
	if f.prog.templates.depth >= maxTemplates {
		return cty.NilVal, diag.List{diag.Errorf(diag.Range{File: name}, "Templates nested too deeply",
			"Templates can render other templates at most 16 levels deep. Check for a template that renders itself.")}
	}
	f.prog.templates.depth++
	defer func() { f.prog.templates.depth-- }()
	ctx := f.prog.Functions(f).NewChild()
	ctx.Variables = vars
	f.prog.Working(diag.Range{File: name})
	val, hds := expr.Value(ctx)
	if hds.HasErrors() {
		return cty.NilVal, f.prog.WithLines(f.prog.FromHCL(hds))
	}
	return templateText(val, name)
}

// template parses a template file, once.
func (p *Program) template(name string, src []byte) (hclsyntax.Expression, diag.List) {
	if e, ok := p.templates.parsed[name]; ok {
		return e, nil
	}
	p.Sources[name] = src
	p.Working(diag.Range{File: name})
	if ds := syntax.Guard(src, name, syntax.TemplateSyntax); ds.HasErrors() {
		return nil, ds
	}
	e, hds := hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
	if hds.HasErrors() {
		return nil, p.WithLines(syntax.FromHCL(hds))
	}
	syntax.CheckDivisions(e)
	p.Loops.Watch(e)
	p.templates.parsed[name] = e
	return e, nil
}

// templateText returns a rendered template as text; null and unknown are errors.
func templateText(v cty.Value, name string) (cty.Value, diag.List) {
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() || !s.IsKnown() {
		return cty.NilVal, diag.List{diag.Errorf(diag.Range{File: name}, "Template without text",
			"The template consists of one expression, and its value is %s. It must be a string.", v.Type().FriendlyName())}
	}
	return s, nil
}
