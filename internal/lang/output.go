package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
)

// output is a value that a defined kind or a module provides to its users: site["example.org"].url,
// module.db.address.
type output struct {
	rng         diag.Range
	value       hclsyntax.Expression
	description string
	// exported is set if other targets can use the output. typ is its type, NilType if the
	// declaration omits it.
	exported bool
	typ      cty.Type
}

func (ps *parser) output(b *hclsyntax.Block) {
	name, r, ok := ps.label(b)
	if !ok {
		return
	}
	ps.only(b, []string{"value", "type", "exported", "description"}, nil)
	old, value := ps.body.outputs[name], b.Body.Attributes["value"]
	switch {
	case ps.top && ps.in == nil:
		ps.errorf(r, "Output at the top",
			"An output belongs to a module or a define block, because at the top of a repository no other code can use it. "+
				"For a value that other states use, write a local.")
		return
	case !hclsyntax.ValidIdentifier(name):
		ps.errorf(r, "Bad name for an output", "%q is not a valid name. Use letters, digits, _ and -, and begin with a letter.", name)
		return
	case old != nil:
		ps.errorf(r, "Output declared twice", "The output %q is already declared at %s. Rename or remove one of the two.", name, old.rng)
		return
	case value == nil:
		ps.errorf(r, "Output without a value", "Set the value: output %q { value = … }.", name)
		return
	}
	o := &output{rng: r, value: value.Expr}
	ps.exportedOutput(o, b)
	if a := b.Body.Attributes["description"]; a != nil {
		o.description = ps.text(a.Expr, "description")
	}
	ps.body.outputs[name] = o
}

// checkOutputs refuses outputs of a define with the name of a variable of the same kind.
func (ps *parser) checkOutputs(d *define) {
	for _, name := range sortedKeys(d.body.outputs) {
		if v := d.body.vars[name]; v != nil {
			ps.errorf(d.body.outputs[name].rng, "Name used twice",
				"%q is already a variable of the kind (at %s), and users of the kind can read it as an attribute. Rename the output.", name, v.rng)
		}
	}
}

// output evaluates an output of a scope once.
func (ev *evaluator) output(s *scope, name string) *memo {
	m := s.outputs[name]
	if m == nil {
		m = &memo{}
		s.outputs[name] = m
	}
	o := s.body.outputs[name]
	if !ev.begin(m, s.prefix+name, rangeOf(o.value.Range())) {
		return m
	}
	defer ev.end(m)
	if m.val, m.refs, m.ok = ev.evalAny(s, nil, o.value); m.ok && o.typ != cty.NilType {
		m.val, m.ok = ev.outputOf(name, o, m.val)
	}
	return m
}

// outputOf converts the value of an output to its declared type.
func (ev *evaluator) outputOf(name string, o *output, v cty.Value) (cty.Value, bool) {
	out, err := convert.Convert(v, o.typ)
	if err != nil {
		ev.errorf(rangeOf(o.value.Range()), "Wrong type",
			"The output %q must be a %s (declared at %s), and this is a %s.%s", name, o.typ.FriendlyName(), o.rng, v.Type().FriendlyName(), why(err))
	}
	return out, err == nil
}

// outputsInto adds all outputs of a scope to an object's values.
func (ev *evaluator) outputsInto(vals map[string]cty.Value, s *scope) bool {
	for _, name := range sortedKeys(s.body.outputs) {
		m := ev.output(s, name)
		if !m.ok {
			return false
		}
		vals[name] = m.val
	}
	return true
}

// invocationOutput returns an output of an invocation of a defined kind; nil if the invocation has
// an error, which is reported at its place.
func (ev *evaluator) invocationOutput(in *instance, name string) *memo {
	s := ev.open(in)
	if s == nil {
		return nil
	}
	return ev.output(s, name)
}

// moduleValue adds the outputs of a module, or the named output, to the tree.
func (ev *evaluator) moduleValue(r ref, t hcl.Traversal, path []string, tree *names) ([]ref, bool) {
	s, at := r.scope, len(path)
	name, named := stepName(t, at)
	switch {
	case !s.assigned:
		if s.vars == nil { // requested by the variables of a module
			ev.errorf(r.rng, "Module is not known yet",
				"Variables are evaluated before modules, so a variable cannot use a value of a module. "+
					"Use %s in a state or in locals.", traversalText(t))
		}
		return nil, false
	case !named:
		vals := map[string]cty.Value{}
		if !ev.outputsInto(vals, s) {
			return nil, false
		}
		tree.set(path, cty.ObjectVal(vals))
		return []ref{r}, true
	}
	m := ev.output(s, name)
	if m.ok {
		tree.set(append(path, name), m.val)
	}
	return []ref{r}, m.ok
}
