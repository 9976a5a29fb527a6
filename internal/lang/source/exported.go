package source

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Selector returns a function that reports whether a target, by name and labels, is selected for a
// target with the labels mine. The Exported must belong to a Program, whose patterns are valid.
func (e Exported) Selector() func(name string, labels, mine map[string]string) bool {
	var names []func(string) bool
	for _, text := range e.Targets {
		if match, err := pattern(text); err == nil {
			names = append(names, match)
		}
	}
	return func(name string, labels, mine map[string]string) bool {
		if len(e.Targets) > 0 && !slices.ContainsFunc(names, func(match func(string) bool) bool { return match(name) }) {
			return false
		}
		for k, values := range e.Labels {
			if have, ok := labels[k]; !ok || !slices.Contains(values, have) && !slices.Contains(values, "*") {
				return false
			}
		}
		return !slices.ContainsFunc(e.Same, func(k string) bool { return labels[k] != mine[k] })
	}
}

// exported reads an exported block. Its attributes must be constant, because they are read before
// any target is known.
func (ps *parser) exported(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"module", "output", "targets", "labels", "same", "at_least", "description"}, nil)
	at, old := b.Body.Attributes, ps.body.Exported[name]
	switch {
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for an exported block",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.Errorf(r, "Exported block declared twice",
			"The exported block %q is already declared at %s. Rename or remove one of the two.", name, old.Range)
		return
	case at["module"] == nil:
		ps.Errorf(r, "Exported block without a module", `Name the module with the output: exported %q { module = "web" }.`,
			name)
		return
	}
	e := &Exported{Name: name, Output: name, Range: r}
	if e.Module = ps.text(at["module"].Expr, "module"); e.Module != "" {
		e.Module = path.Join("modules", e.Module)
	}
	if a := at["output"]; a != nil {
		e.Output = ps.text(a.Expr, "output")
	}
	if a := at["targets"]; a != nil {
		ps.patterns(a.Expr)
		e.Targets = ps.plainTexts(a)
	}
	if a := at["labels"]; a != nil {
		e.Labels = ps.selector(a.Expr)
	}
	if a := at["same"]; a != nil {
		e.Same = ps.plainTexts(a)
	}
	e.AtLeast = ps.atLeast(at["at_least"])
	ps.body.Exported[name] = e
}

func (ps *parser) plainTexts(a *hclsyntax.Attribute) []string {
	exprs, hds := hcl.ExprList(a.Expr)
	ps.Add(syntax.FromHCL(hds)...)
	var out []string
	for _, x := range exprs {
		if text := ps.text(x.(hclsyntax.Expression), a.Name); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func (ps *parser) atLeast(a *hclsyntax.Attribute) int {
	if a == nil {
		return 0
	}
	v, ok := ps.prog.Early(&ps.Reports, a.Expr, cty.Number)
	if !ok {
		return 0
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != 0 || n < 0 || n > 100_000 {
		ps.Errorf(syntax.RangeOf(a.Expr.Range()), "Bad number",
			"at_least is the number of targets that must have reported. It must be a whole number from 0 to 100000.")
		return 0
	}
	return int(n)
}

// GivenTables returns the exported values of the tree, with the errors of their file.
func (p *Program) GivenTables() *given {
	g := &p.given
	if g.done {
		return g
	}
	g.done = true
	at := diag.Range{File: exported.File}
	text, err := p.Tree.ReadFile(exported.File)
	if errors.Is(err, fs.ErrNotExist) {
		return g
	}
	if err == nil {
		g.tables, err = exported.Parse(text)
	}
	if err != nil {
		g.tables, g.Errors = nil, diag.List{diag.Errorf(at, "Bad file of exported values",
			"%s Hubs and agents write this file. To write it yourself, run: fettle export list --snapshot.",
			syntax.Sentence(err))}
	}
	g.Known = true
	return g
}

func (g *given) Table(e *Exported) *exported.Table {
	for i, t := range g.tables {
		if t.Module == e.Module && t.Output == e.Output {
			return &g.tables[i]
		}
	}
	return nil
}
