package source

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// group reads a target_group. It must have a selector: targets = ["*"] selects all targets.
func (ps *parser) group(b *hclsyntax.Block) {
	l, ok := ps.level(b, "targets", "labels")
	if !ok {
		return
	}
	for _, old := range ps.prog.Groups {
		if old.Name == l.Name {
			ps.Errorf(l.Range, "Target group declared twice",
				"The target_group %q is already declared at %s. Rename or remove one of the two.", l.Name, old.Range)
			return
		}
	}
	at := b.Body.Attributes
	if at["targets"] == nil && at["labels"] == nil {
		ps.Errorf(l.Range, "Target group selects nothing",
			`Set targets = ["web*"] or labels = { env = "prod" }. To select all targets, write targets = ["*"].`)
		return
	}
	ps.prog.Groups = append(ps.prog.Groups, &Group{Level: l, Selector: ps.targetSelector(at)})
}

// targetSelector reads the attributes targets and labels of a target_group or a wave.
func (ps *parser) targetSelector(at hclsyntax.Attributes) (out Selector) {
	if a := at["targets"]; a != nil {
		out.Names, out.Patterns = ps.patterns(a.Expr)
	}
	if a := at["labels"]; a != nil {
		out.Labels = ps.selector(a.Expr)
	}
	return out
}

// patterns reads names with * ? and [a-z], and regular expressions between slashes. A pattern must
// match the whole name.
func (ps *parser) patterns(e hclsyntax.Expression) (out []func(string) bool, texts []string) {
	exprs, hds := hcl.ExprList(e)
	ps.Add(syntax.FromHCL(hds)...)
	out = []func(string) bool{}
	for _, x := range exprs {
		v, ok := ps.prog.Early(&ps.Reports, x.(hclsyntax.Expression), cty.String)
		if !ok {
			continue
		}
		match, err := pattern(v.AsString())
		if err != nil {
			ps.Errorf(syntax.RangeOf(x.Range()), "Bad pattern", "The pattern %q is not valid: %s.", v.AsString(), err)
			continue
		}
		out, texts = append(out, match), append(texts, v.AsString())
	}
	return out, texts
}

func pattern(text string) (func(string) bool, error) {
	if len(text) > 1 && text[0] == '/' && strings.HasSuffix(text, "/") {
		if _, err := regexp.Compile(text[1 : len(text)-1]); err != nil {
			return nil, err // of the text as it was written
		}
		return regexp.MustCompile(`\A(?:` + text[1:len(text)-1] + `)\z`).MatchString, nil
	}
	if _, err := path.Match(text, ""); err != nil {
		return nil, err
	}
	return func(name string) bool {
		ok, _ := path.Match(text, name)
		return ok
	}, nil
}

// selector reads labels. Each is a text, or a list of alternatives; "*" accepts any value.
func (ps *parser) selector(e hclsyntax.Expression) map[string][]string {
	out := map[string][]string{}
	v, hds := e.Value(ps.prog.Pure)
	ps.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return out
	}
	wrong := func(rng diag.Range) {
		ps.Errorf(rng, "Bad label selector",
			`labels must be an object of strings or lists of strings: labels = { env = "prod", role = ["web", "app"] }.`)
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		wrong(syntax.RangeOf(e.Range()))
		return out
	}
	for _, k := range syntax.SortedNames(v.AsValueMap()) {
		values, ok := anyOf(v.AsValueMap()[k])
		if !ok {
			wrong(syntax.RangeOf(e.Range()))
		}
		out[k] = values
	}
	return out
}

// anyOf reads a string, or a list of strings.
func anyOf(v cty.Value) ([]string, bool) {
	list := []cty.Value{v}
	if t := v.Type(); !v.IsNull() && (t.IsTupleType() || t.IsListType() || t.IsSetType()) {
		list = v.AsValueSlice()
	}
	var out []string
	for _, e := range list {
		if e.IsNull() || e.Type() != cty.String {
			return nil, false
		}
		out = append(out, e.AsString())
	}
	return out, true
}

// Matches reports whether it selects a target with this name and these labels.
func (s *Selector) Matches(name string, labels map[string]string) bool {
	if s.Names != nil {
		named := false
		for _, match := range s.Names {
			named = named || match(name)
		}
		if !named {
			return false
		}
	}
	for k, values := range s.Labels {
		if have, ok := labels[k]; !ok || !slices.Contains(values, have) && !slices.Contains(values, "*") {
			return false
		}
	}
	return true
}
