package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/secret"
)

// ErrPlaceholder: the secret exists, but need not be decrypted.
var ErrPlaceholder = errors.New("it cannot be decrypted here")

// Begin prepares the evaluation of the next target. A test has its own secrets. Targets share
// decrypted secrets because they also share values that depend on them.
func (s *secrets) Begin(given map[string]string, test bool) {
	if test || s.test {
		*s = secrets{source: s.source, given: given, test: test}
	}
}

// Masked removes all secrets from diagnostics.
func (s *secrets) Masked(ds diag.List) diag.List {
	if len(s.known) == 0 {
		return ds
	}
	if s.masker == nil {
		var values []string
		for _, k := range s.known {
			values = append(values, string(k.Content))
		}
		s.masker = secret.NewMasker(values)
	}
	for i := range ds {
		ds[i].Summary, ds[i].Detail, ds[i].Line = s.masker.Text(ds[i].Summary), s.masker.Text(ds[i].Detail),
			s.masker.Text(ds[i].Line)
	}
	return ds
}

// secret returns a secret, decrypted once.
func (p *Program) secret(name string) (kind.Secret, error) {
	if err := secret.CheckName(name); err != nil {
		return kind.Secret{}, err
	}
	s := &p.Secrets
	if text, ok := s.given[name]; ok {
		return s.know(name, kind.Secret{Content: []byte(text)}), nil
	}
	if k, ok := s.known[name]; ok {
		p.Record.used[secret.PathOf(name)] = true
		return k, nil
	}
	k, err := kind.Secret{}, ErrPlaceholder
	if s.source != nil && !s.test {
		k, err = s.source.Secret(name)
	}
	if errors.Is(err, ErrPlaceholder) {
		k, err = p.placeholder(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no secret %q in the repository; make it with: fettle secret set %s", name, name)
	}
	if err != nil {
		return kind.Secret{}, err
	}
	p.Record.used[secret.PathOf(name)] = true
	return s.know(name, k), nil
}

func (s *secrets) know(name string, k kind.Secret) kind.Secret {
	if s.known == nil {
		s.known = map[string]kind.Secret{}
	}
	s.known[name], s.masker = k, nil
	return k
}

// placeholder returns the substitute for a secret that is not decrypted. Different files have
// different placeholders.
func (p *Program) placeholder(name string) (kind.Secret, error) {
	digest, _, err := p.Tree.Digest(secret.PathOf(name))
	if err != nil {
		return kind.Secret{}, err
	}
	if p.Secrets.closed == nil {
		p.Secrets.closed = map[string]bool{}
	}
	p.Secrets.closed[name] = true
	return kind.Secret{Content: fmt.Appendf(nil, "(placeholder of the secret %s, %s)", name, digest)}, nil
}

// Placeholders returns the names of the secrets that were replaced by placeholders so far, sorted.
func (p *Program) Placeholders() []string { return slices.Sorted(maps.Keys(p.Secrets.closed)) }

// UsesSecrets reports whether a secret was used so far.
func (p *Program) UsesSecrets() bool { return len(p.Secrets.known) > 0 }

// Hide removes a secret that a user typed from every diagnostic.
func (p *Program) Hide(name, text string) {
	if text != "" {
		p.Secrets.know(name, kind.Secret{Content: []byte(text)})
	}
}

// Secret implements kind.Files.
func (f *Directory) Secret(name string) (kind.Secret, error) {
	if f.isVisible() {
		return kind.Secret{}, errors.New("a scope cannot contain a secret, because hubs and users with the right read can " +
			"see it; let the command read a file")
	}
	return f.prog.secret(name)
}

// secretFunc returns the function for the text of a secret, marked and without the newline at its
// end.
func secretFunc(f *Directory) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := f.Secret(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			if !utf8.Valid(s.Content) {
				return cty.NilVal, function.NewArgErrorf(0,
					"the secret %q is not UTF-8 text; to write it to a file, set secret = %q", args[0].AsString(), args[0].AsString())
			}
			text := strings.TrimSuffix(string(s.Content), "\n")
			return cty.StringVal(text).Mark(secret.Mark{Key: s.Key}), nil
		},
	})
}

// FromHCL is like syntax.FromHCL, for results of evaluation. The text of an error about a
// value that depends on a secret could contain the secret, in any form that a function produced.
func (p *Program) FromHCL(in hcl.Diagnostics) diag.List {
	if !p.UsesSecrets() {
		return syntax.FromHCL(in)
	}
	var out diag.List
	for _, d := range in {
		ds := syntax.FromHCL(hcl.Diagnostics{d})
		if syntax.TemplateDiagnostics(d) == nil && aboutSecret(d) {
			for i := range ds {
				ds[i].Detail = "fettle does not show details of this error, because the value depends on a secret."
			}
		}
		out = append(out, ds...)
	}
	return out
}

// aboutSecret reports whether the expression of a diagnostic, or one of its direct operands,
// depends on a secret.
func aboutSecret(d *hcl.Diagnostic) bool {
	if d.Expression == nil || d.EvalContext == nil {
		return false
	}
	marked := func(e hcl.Expression) bool {
		v, _ := e.Value(d.EvalContext)
		return v != cty.NilVal && v.ContainsMarked()
	}
	for _, e := range below(d.Expression) {
		if marked(e) {
			return true
		}
	}
	return marked(d.Expression)
}

func below(e hcl.Expression) []hcl.Expression {
	var out []hcl.Expression
	switch x := e.(type) {
	case *hclsyntax.FunctionCallExpr:
		for _, a := range x.Args {
			out = append(out, a)
		}
	case *hclsyntax.IndexExpr:
		out = append(out, x.Collection, x.Key)
	case *hclsyntax.BinaryOpExpr:
		out = append(out, x.LHS, x.RHS)
	case *hclsyntax.UnaryOpExpr:
		out = append(out, x.Val)
	case *hclsyntax.ConditionalExpr:
		out = append(out, x.Condition, x.TrueResult, x.FalseResult)
	case *hclsyntax.RelativeTraversalExpr:
		out = append(out, x.Source)
	case *hclsyntax.ForExpr:
		out = append(out, x.CollExpr)
	case *hclsyntax.TemplateExpr:
		for _, p := range x.Parts {
			out = append(out, p)
		}
	}
	return out
}

// Finish adds source lines to diagnostics and sorts them by place.
func Finish(p *Program, ds diag.List) diag.List {
	ds = p.WithLines(ds)
	ds.Sort()
	return ds
}

// WithLines adds source lines to diagnostics. None of them repeats a secret.
func (p *Program) WithLines(ds diag.List) diag.List {
	ds = p.Secrets.Masked(ds)
	for i, d := range ds {
		if src, ok := p.Sources[d.Range.File]; ok && d.Line == "" {
			ds[i] = d.WithLine(src)
		}
	}
	return ds
}
