package syntax

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
)

// Sentence returns an error as a complete sentence.
func Sentence(err error) string {
	s := []rune(err.Error())
	if len(s) == 0 {
		return ""
	}
	s[0] = unicode.ToUpper(s[0])
	if strings.HasSuffix(string(s), "?") {
		return string(s)
	}
	return strings.TrimRight(string(s), ".") + "."
}

// RangeOf converts a range of the parser.
func RangeOf(r hcl.Range) diag.Range {
	pos := func(p hcl.Pos) diag.Pos { return diag.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return diag.Range{File: r.Filename, Start: pos(r.Start), End: pos(r.End)}
}

// toHCL converts a range to the parser's type.
func toHCL(r diag.Range) hcl.Range {
	pos := func(p diag.Pos) hcl.Pos { return hcl.Pos{Line: p.Line, Column: p.Column, Byte: p.Byte} }
	return hcl.Range{Filename: r.File, Start: pos(r.Start), End: pos(r.End)}
}

// TemplateError carries the diagnostics of a template through the error that a
// function may return, so that they keep their own positions.
type TemplateError struct{ List diag.List }

func (e *TemplateError) Error() string { return e.List.Err().Error() }

// FromHCL converts a parser's diagnostics. An error inside a template that a function rendered
// keeps its place there, and gets the call as trace.
func FromHCL(in hcl.Diagnostics) diag.List {
	var out diag.List
	for _, d := range in {
		if inner := TemplateDiagnostics(d); inner != nil {
			out = append(out, inner...)
			continue
		}
		nd := diag.Diagnostic{Summary: d.Summary, Detail: diag.Shortened(d.Detail)}
		if d.Severity == hcl.DiagWarning {
			nd.Severity = diag.Warning
		}
		if d.Subject != nil {
			nd.Range = RangeOf(*d.Subject)
		}
		out = append(out, nd)
	}
	return out
}

// TemplateDiagnostics returns the diagnostics inside a template that a function rendered, nil if there are
// none. Each has the call as trace.
func TemplateDiagnostics(d *hcl.Diagnostic) diag.List {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || extra.FunctionCallError() == nil {
		return nil
	}
	var te *TemplateError
	if !errors.As(extra.FunctionCallError(), &te) {
		return nil
	}
	out := slices.Clone(te.List)
	for i := range out {
		if d.Subject != nil {
			out[i].Trace = append(slices.Clone(out[i].Trace), RangeOf(*d.Subject))
		}
	}
	return out
}

// Reports collects diagnostics. An error that occurs twice is kept once.
type Reports struct {
	List diag.List
	seen map[string]bool
}

// Add adds diagnostics that the list does not have yet.
func (r *Reports) Add(ds ...diag.Diagnostic) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	for _, d := range ds {
		if key := d.String(); !r.seen[key] {
			r.seen[key] = true
			r.List = append(r.List, d)
		}
	}
}

// Errorf adds an error.
func (r *Reports) Errorf(rng diag.Range, summary, detail string, args ...any) {
	r.Add(diag.Errorf(rng, summary, detail, args...))
}
