package source

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Expansion reads states in the JSON form. A program printed them, so their texts are data and
// ${…} is not a template.
func (p *Program) Expansion(f *Directory, x *kind.Expansion) (*Body, diag.List) {
	p.Sources[x.File] = x.Text
	p.Working(diag.Range{File: x.File})
	ps := &parser{prog: p, body: NewBody(f)}
	if ds := append(syntax.TooLarge(x.Text, x.File), syntax.Readable(x.Text, x.File)...); ds.HasErrors() {
		return nil, ds
	}
	doc, err := jsonfront.Parse(front.NewSource(x.File, x.Text))
	if doc != nil {
		literal(doc)
	}
	tree := ps.document(syntax.ModuleBody)(doc, err)
	if tree == nil {
		return nil, p.WithLines(ps.List)
	}
	for _, b := range tree.Blocks {
		switch b.Type {
		case "variable", "fact", "define", "output", "lookup", "action", "command", "target", "role", "target_group",
			"enrolled", "needs", "exported", "policy", "ssh", "rollout", "window", "lock", "barrier", "signal",
			"scope_kind", "scope", "cluster", "module", "test", "generator":
			ps.Errorf(syntax.RangeOf(b.TypeRange), "Block that cannot be generated",
				"A generator can make states, blocks of states and locals, and this is a %s. Write it into a file of the module.",
				b.Type)
		}
	}
	if !ps.List.HasErrors() {
		ps.contents(tree)
	}
	return ps.body, p.WithLines(ps.List)
}

// literal marks all strings of a document as constant, so that they are not templates.
func literal(n *front.Node) {
	if n.Kind == front.Text {
		n.Kind = front.Literal
	}
	for _, item := range n.Items {
		literal(item)
	}
	for _, p := range n.Pairs {
		literal(p.Key)
		literal(p.Value)
	}
}
