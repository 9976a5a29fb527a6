package lang

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/front"
	"fettle.dev/fettle/internal/lang/front/jsonfront"
)

// standsFor returns the expansion of a state, and makes its node a group. It returns nil for a
// state that compiles to steps. Results that are recorded in the repository cannot depend on a
// value that only a run provides.
func (ev *evaluator) standsFor(st *state, n *catalog.Node, unknown bool) (*kind.Expansion, bool) {
	if st.kind.Expand == nil {
		return nil, true
	}
	if unknown {
		ev.errorf(st.decl.rng, "Value is not known",
			"The result of %s is recorded in the repository, so its attributes must be known before the run. "+
				"This one depends on the result of a run.", diag.One(st.kind.Name))
		return nil, false
	}
	x, ds := st.kind.Expand(n.State)
	ev.add(ev.traced(st.scope, ds)...)
	n.Group = x != nil || ds.HasErrors()
	return x, true
}

// walkExpansion adds the states of an expansion to the catalog. They are private, like the states
// in a defined kind. Their steps have the place of the expanded state.
func (ev *evaluator) walkExpansion(in *instance, x *kind.Expansion) {
	st := in.st
	body, ds := ev.prog.expansion(st.scope.directory, x)
	for i := range ds {
		ds[i] = ds[i].UsedAt(append([]diag.Range{st.decl.rng}, st.scope.trace...))
	}
	ev.add(ds...)
	switch {
	case ds.HasErrors():
		return
	case st.scope.depth >= maxInvocations:
		ev.errorf(st.decl.rng, "Kinds nested too deeply",
			"Generators and defined kinds can use each other at most %d levels deep. Check for a kind that uses itself.", maxInvocations)
		return
	}
	s := ev.newScope(body, in.id+"/", st.decl.kind+" "+st.decl.label)
	s.depth, s.source = st.scope.depth+1, st.scope.source
	if s.source == "" {
		s.source = sourceOf(st.decl.rng)
	}
	s.trace = append([]diag.Range{st.decl.rng}, st.scope.trace...)
	s.facts, s.vars, s.varObj = map[string]cty.Value{}, map[string]cty.Value{}, cty.EmptyObjectVal
	s.node, s.assigned = in.node, true
	ev.walkScope(s, in.node)
}

// expansion reads states in the JSON form. A program printed them, so their texts are data and
// ${…} is not a template.
func (p *Program) expansion(f *directory, x *kind.Expansion) (*body, diag.List) {
	p.sources[x.File] = x.Text
	p.working(diag.Range{File: x.File})
	ps := &parser{prog: p, body: newBody(f)}
	if ds := append(tooLarge(x.Text, x.File), readable(x.Text, x.File)...); ds.HasErrors() {
		return nil, ds
	}
	doc, err := jsonfront.Parse(front.NewSource(x.File, x.Text))
	if doc != nil {
		literal(doc)
	}
	tree := ps.document(moduleBody)(doc, err)
	if tree == nil {
		return nil, p.lines(ps.list)
	}
	for _, b := range tree.Blocks {
		switch b.Type {
		case "variable", "fact", "define", "output", "lookup", "action", "command", "target", "role", "target_group", "enrolled", "needs", "exported", "policy", "ssh", "module", "test", "generator":
			ps.errorf(rangeOf(b.TypeRange), "Block that cannot be generated",
				"A generator can make states, blocks of states and locals, and this is a %s. Write it into a file of the module.", b.Type)
		}
	}
	if !ps.list.HasErrors() {
		ps.contents(tree)
	}
	return ps.body, p.lines(ps.list)
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
