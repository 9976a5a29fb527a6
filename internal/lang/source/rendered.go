package source

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/syntax"
)

// render returns the text of a file that is a template. It is rendered while files are read, before
// any target or variable is known. It can therefore use only functions; functions that read files
// provide data.
func (ps *parser) render(name string, src []byte) (*front.Source, diag.List) {
	expr, ds := ps.prog.template(name, src)
	if ds.HasErrors() {
		return nil, ds
	}
	ctx := ps.prog.Functions(ps.body.Directory)
	v, hds := expr.Value(ctx)
	if hds.HasErrors() {
		return nil, laterHint(syntax.FromHCL(hds))
	}
	rendered, ds := templateText(v, name)
	if ds.HasErrors() {
		return nil, ds
	}
	if rendered.IsMarked() {
		return nil, diag.List{diag.Errorf(diag.Range{File: name}, "Secret in a visible place",
			`The template is rendered before the file is parsed, so the secret would become part of the configuration text. Escape the expression: `+
				`$${secret("…")}.`)}
	}
	text := rendered.AsString()
	if len(text) > syntax.MaxFile {
		return nil, diag.List{diag.Errorf(diag.Range{File: name}, "File too large",
			"The rendered text has %d bytes, and the limit is %d. Split it.", len(text), syntax.MaxFile)}
	}
	t := tracer{src: src}
	t.expression(expr, ctx)
	if t.out.String() != text { // an imprecise position is better than a wrong one
		t.segments = []front.Segment{{Whole: true}}
	}
	out := front.Rendered([]byte(text), front.NewSource(name, src), t.segments)
	for _, d := range syntax.Readable([]byte(text), name) {
		at := d.Range.Start.Byte
		return nil, diag.List{front.Errorf(out, at, at, d.Summary, "%s", d.Detail).Diagnostic()}
	}
	return out, nil
}

// laterHint adds advice for names that are only known later.
func laterHint(ds diag.List) diag.List {
	for i, d := range ds {
		if strings.Contains(d.Summary, "ariable") {
			ds[i].Detail += " The file is rendered before variables are known. To evaluate the expression after the rendering, write $${…}."
		}
	}
	return ds
}

// tracer renders a template again and records the origin of each piece of the text.
type tracer struct {
	src      []byte
	out      bytes.Buffer
	segments []front.Segment
}

func (t *tracer) emit(text string, from int, whole bool) {
	t.segments = append(t.segments, front.Segment{At: t.out.Len(), From: from, Whole: whole})
	t.out.WriteString(text)
}

func (t *tracer) expression(e hclsyntax.Expression, ctx *hcl.EvalContext) {
	switch x := e.(type) {
	case *hclsyntax.TemplateExpr:
		for _, part := range x.Parts {
			t.expression(part, ctx)
		}
	case *hclsyntax.LiteralValueExpr:
		if x.Val.Type() == cty.String && !x.Val.IsNull() {
			t.literal(x.Val.AsString(), x.SrcRange)
			return
		}
		t.value(e, ctx)
	case *hclsyntax.TemplateJoinExpr:
		t.loop(x, ctx)
	case *hclsyntax.ConditionalExpr:
		t.branch(x, ctx)
	default:
		t.value(e, ctx)
	}
}

// literal adds text of the template. Doubled signs mean one sign, and blanks at its ends may have
// been removed.
func (t *tracer) literal(text string, r hcl.Range) {
	written := string(r.SliceBytes(t.src))
	i, begun := 0, 0 // in written, in text
	for j := 0; j < len(text) && i < len(written); {
		switch {
		case strings.HasPrefix(written[i:], "$${") || strings.HasPrefix(written[i:], "%%{"):
			t.emit(text[begun:j], r.Start.Byte+i-(j-begun), false)
			begun = j
			i++
			fallthrough
		case written[i] == text[j]:
			i++
			j++
		case j == 0:
			i++
		default:
			i = len(written)
		}
	}
	t.emit(text[begun:], r.Start.Byte+max(0, i-(len(text)-begun)), false)
}

// value emits the result of an expression, with a single place for all of it.
func (t *tracer) value(e hclsyntax.Expression, ctx *hcl.EvalContext) {
	v, hds := e.Value(ctx)
	if hds.HasErrors() {
		return
	}
	if s, err := convert.Convert(v, cty.String); err == nil && !s.IsNull() && s.IsKnown() {
		t.emit(s.AsString(), e.Range().Start.Byte, true)
	}
}

func (t *tracer) loop(x *hclsyntax.TemplateJoinExpr, ctx *hcl.EvalContext) {
	f, ok := x.Tuple.(*hclsyntax.ForExpr)
	if !ok || f.CondExpr != nil {
		t.value(x, ctx)
		return
	}
	list, hds := f.CollExpr.Value(ctx)
	if hds.HasErrors() || list.IsNull() || !list.IsKnown() || !list.CanIterateElements() {
		return
	}
	for it := list.ElementIterator(); it.Next(); {
		k, v := it.Element()
		inner := ctx.NewChild()
		inner.Variables = map[string]cty.Value{f.ValVar: v}
		if f.KeyVar != "" {
			inner.Variables[f.KeyVar] = k
		}
		t.expression(f.ValExpr, inner)
	}
}

// branch renders the chosen branch of a directive. cond ? a : b is one value.
func (t *tracer) branch(x *hclsyntax.ConditionalExpr, ctx *hcl.EvalContext) {
	v, hds := x.Condition.Value(ctx)
	b, err := convert.Convert(v, cty.Bool)
	if !bytes.HasPrefix(x.SrcRange.SliceBytes(t.src), []byte("%{")) || hds.HasErrors() || err != nil || b.IsNull() {
		t.value(x, ctx)
		return
	}
	if b.True() {
		t.expression(x.TrueResult, ctx)
	} else {
		t.expression(x.FalseResult, ctx)
	}
}
