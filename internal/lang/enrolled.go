package lang

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
)

// enrolled is an enrolled block: a target that joined a fleet, with its labels.
type enrolled struct {
	name     string
	rng      diag.Range
	labels   *hclsyntax.Attribute
	waits    *hclsyntax.Attribute // modules that must wait
	declared bool                 // by a target block, too
}

func (ps *parser) enrolled(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"labels", "waits"}, nil)
	if old := ps.prog.enrolled[name]; old != nil {
		ps.errorf(r, "Target enrolled twice", "The target %q is already enrolled at %s. Remove one of the two blocks.", name, old.rng)
		return
	}
	ps.prog.enrolled[name] = &enrolled{name: name, rng: r, labels: b.Body.Attributes["labels"], waits: b.Body.Attributes["waits"]}
}

// enrol joins enrolled targets with the declared targets of the same name. It appends the remaining
// enrolled targets, sorted by place and name.
func (p *Program) enrol() {
	for _, t := range p.targets {
		if e := p.enrolled[t.name]; e != nil {
			t.enrolled, t.waits, e.declared = e, e.waits, true
		}
	}
	var more []*enrolled
	for _, e := range p.enrolled {
		if !e.declared {
			more = append(more, e)
		}
	}
	slices.SortFunc(more, func(a, b *enrolled) int {
		return cmp.Or(cmp.Compare(a.rng.File, b.rng.File), cmp.Compare(a.rng.Start.Byte, b.rng.Start.Byte), cmp.Compare(a.name, b.name))
	})
	for _, e := range more {
		p.targets = append(p.targets, &target{level: level{what: "target", name: e.name, rng: e.rng, waits: e.waits}, enrolled: e})
	}
}
