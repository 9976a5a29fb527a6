package lang

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
)

// rangeOf converts a range of the parser.
func rangeOf(r hcl.Range) diag.Range {
	pos := func(p hcl.Pos) diag.Pos { return diag.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return diag.Range{File: r.Filename, Start: pos(r.Start), End: pos(r.End)}
}

// templateError carries the diagnostics of a template through the error that a
// function may return, so that they keep their own positions.
type templateError struct{ list diag.List }

func (e *templateError) Error() string { return e.list.Err().Error() }

// fromHCL converts a parser's diagnostics. An error inside a template that a function rendered
// keeps its place there, and gets the call as trace.
func fromHCL(in hcl.Diagnostics) diag.List {
	var out diag.List
	for _, d := range in {
		if inner := templateDiagnostics(d); inner != nil {
			out = append(out, inner...)
			continue
		}
		nd := diag.Diagnostic{Summary: d.Summary, Detail: diag.Shortened(d.Detail)}
		if d.Severity == hcl.DiagWarning {
			nd.Severity = diag.Warning
		}
		if d.Subject != nil {
			nd.Range = rangeOf(*d.Subject)
		}
		out = append(out, nd)
	}
	return out
}

func templateDiagnostics(d *hcl.Diagnostic) diag.List {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || extra.FunctionCallError() == nil {
		return nil
	}
	var te *templateError
	if !errors.As(extra.FunctionCallError(), &te) {
		return nil
	}
	out := slices.Clone(te.list)
	for i := range out {
		if d.Subject != nil {
			out[i].Trace = append(slices.Clone(out[i].Trace), rangeOf(*d.Subject))
		}
	}
	return out
}

// reports collects diagnostics. An error that occurs twice is kept once.
type reports struct {
	list diag.List
	seen map[string]bool
}

func (r *reports) add(ds ...diag.Diagnostic) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	for _, d := range ds {
		if key := d.String(); !r.seen[key] {
			r.seen[key] = true
			r.list = append(r.list, d)
		}
	}
}

func (r *reports) errorf(rng diag.Range, summary, detail string, args ...any) {
	r.add(diag.Errorf(rng, summary, detail, args...))
}

// errorIn reports an error in a scope.
func (ev *evaluator) errorIn(s *scope, rng diag.Range, summary, detail string, args ...any) {
	ev.add(diag.Errorf(rng, summary, detail, args...).UsedAt(s.trace))
}
