package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// headerOf returns the position of a block. In other forms than HCL, one key can contain many
// labels; then the position is the label's.
func headerOf(b *hclsyntax.Block) diag.Range {
	if b.OpenBraceRange.Filename == "" && len(b.LabelRanges) > 0 {
		return syntax.RangeOf(b.LabelRanges[0])
	}
	return syntax.RangeOf(b.DefRange())
}

// decl reads a state, or a block of states.
func (ps *parser) decl(b *hclsyntax.Block) *Declaration {
	name, r, ok := ps.label(b)
	if !ok {
		return nil
	}
	d := &Declaration{Kind: b.Type, Label: name, Range: headerOf(b), KindRange: syntax.RangeOf(b.TypeRange),
		Attributes: b.Body.Attributes, Group: b.Type == "block"}
	d.Labels = []diag.Range{r}
	for _, a := range syntax.AttributeOrder(b.Body.Attributes) {
		d.Names = append(d.Names, a.Name)
	}
	if !d.Group {
		d.Blocks = b.Body.Blocks
		return d
	}
	for _, sub := range b.Body.Blocks {
		switch sub.Type {
		case "variable", "locals", "fact", "define", "output", "lookup", "action", "command", "target", "role",
			"target_group", "enrolled", "needs", "exported", "policy", "ssh", "rollout", "window", "lock", "barrier",
			"signal", "organization", "scope_kind", "scope", "cluster", "environment", "universe":
			ps.Errorf(syntax.RangeOf(sub.TypeRange), "Unexpected block",
				"A block can contain only states. Move the %s out of the block.", sub.Type)
			continue
		}
		if m := ps.decl(sub); m != nil {
			d.Members = append(d.Members, m)
		}
	}
	return d
}
