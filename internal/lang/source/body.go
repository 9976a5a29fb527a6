package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
)

// NewBody returns an empty body whose files are in a directory.
func NewBody(f *Directory) *Body {
	return &Body{Directory: f, Vars: map[string]*Variable{}, Locals: map[string]*hclsyntax.Attribute{},
		Facts: map[string]*Fact{}, Defines: map[string]*Define{}, Outputs: map[string]*Output{},
		Actions: map[string]*Action{}, Exported: map[string]*Exported{}}
}

// reservedNames begin references or blocks of their own, so no kind has them.
func reservedNames() []string {
	return []string{"variable", "locals", "fact", "define", "output", "lookup", "action", "command", "param", "part",
		"block", "target", "role", "target_group", "enrolled", "test", "module", "needs", "exported", "policy", "ssh",
		"rollout", "wave", "after", "window", "lock", "barrier", "signal", "organization", "scope_kind", "scope", "cluster",
		"environment", "universe", "task", "verify", "undo", "var", "local", "each", "vars", "immediate", "version"}
}

// Schema returns the schema that a defined kind has for its users.
func (d *Define) Schema() *kind.Kind {
	if d.kind != nil {
		return d.kind
	}
	k := &kind.Kind{Name: d.name, Doc: d.doc, Main: d.main}
	names := make([]string, 0, len(d.Body.Vars))
	for n := range d.Body.Vars {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		v := d.Body.Vars[n]
		k.Attrs = append(k.Attrs, kind.Attr{Name: n, Type: v.Type, Required: v.Default == nil, Doc: v.Description,
			File: v.File})
	}
	for _, n := range syntax.SortedNames(d.Body.Outputs) {
		k.Outputs = append(k.Outputs, kind.Attr{Name: n, Doc: d.Body.Outputs[n].description})
	}
	d.kind = k
	return k
}
