package source

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

// exportedOutput reads the export settings of an output.
func (ps *parser) exportedOutput(o *Output, b *hclsyntax.Block) {
	at := b.Body.Attributes
	o.Exported = ps.boolOf(at, "exported", false)
	if a := at["type"]; a != nil {
		typ, _ := ps.typeOf(a)
		o.Type = typ.WithoutOptionalAttributesDeep()
	}
	switch {
	case !o.Exported:
	case ps.in != nil:
		ps.Errorf(o.Range, "Export inside a define",
			"Only a module can export values to other targets. Declare an output of the module with this value.")
	case at["type"] == nil || o.Type.HasDynamicTypes():
		ps.Errorf(o.Range, "Exported output without a type",
			"Other targets compile before they have the value, so its type must be complete: write type = string, or another type without any.")
	}
}

func (ps *parser) output(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"value", "type", "exported", "description"}, nil)
	old, value := ps.body.Outputs[name], b.Body.Attributes["value"]
	switch {
	case ps.top && ps.in == nil:
		ps.Errorf(r, "Output at the top",
			"An output belongs to a module or a define block, because at the top of a repository no other code can use it. "+
				"For a value that other states use, write a local.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.Errorf(r, "Bad name for an output",
			"%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.Errorf(r, "Output declared twice", "The output %q is already declared at %s. Rename or remove one of the two.",
			name, old.Range)
		return
	case value == nil:
		ps.Errorf(r, "Output without a value", "Set the value: output %q { value = … }.", name)
		return
	}
	o := &Output{Range: r, Value: value.Expr}
	ps.exportedOutput(o, b)
	if a := b.Body.Attributes["description"]; a != nil {
		o.description = ps.text(a.Expr, "description")
	}
	ps.body.Outputs[name] = o
}

// checkOutputs refuses outputs of a define with the name of a variable of the same kind.
func (ps *parser) checkOutputs(d *Define) {
	for _, name := range syntax.SortedNames(d.Body.Outputs) {
		if v := d.Body.Vars[name]; v != nil {
			ps.Errorf(d.Body.Outputs[name].Range, "Name used twice",
				"%q is already a variable of the kind (at %s), and users of the kind can read it as an attribute. Rename the output.",
				name,
				v.Range)
		}
	}
}
