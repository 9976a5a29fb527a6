package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
)

// names is a tree of values by name, from which variables are made. An expression gets exactly the
// values that it names.
type names struct {
	leaf cty.Value
	kids map[string]*names
}

func (n *names) set(path []string, v cty.Value) {
	for _, p := range path {
		if n.leaf != cty.NilVal {
			return // already complete
		}
		if n.kids == nil {
			n.kids = map[string]*names{}
		}
		if n.kids[p] == nil {
			n.kids[p] = &names{}
		}
		n = n.kids[p]
	}
	n.leaf = v
}

func (n *names) value() cty.Value {
	if n.leaf != cty.NilVal {
		return n.leaf
	}
	m := make(map[string]cty.Value, len(n.kids))
	for k, kid := range n.kids {
		m[k] = kid.value()
	}
	return cty.ObjectVal(m)
}

// variables returns the root values of traversals, and their references.
func (ev *evaluator) variables(s *scope, each map[string]cty.Value, ts []hcl.Traversal) (map[string]cty.Value, []ref, bool) {
	tree := &names{}
	var refs []ref
	good := true
	for _, t := range ts {
		found, ok := ev.variable(s, each, t, tree)
		refs = append(refs, found...)
		good = good && ok
	}
	if !good {
		return nil, nil, false
	}
	vars := make(map[string]cty.Value, len(tree.kids))
	for k, kid := range tree.kids {
		vars[k] = kid.value()
	}
	return vars, refs, true
}

// variable adds the value of one traversal to the tree.
func (ev *evaluator) variable(s *scope, each map[string]cty.Value, t hcl.Traversal, tree *names) ([]ref, bool) {
	rng := rangeOf(t.SourceRange())
	root := t.RootName()
	switch root {
	case "var":
		return nil, ev.known(s, t, tree, s.vars, "variable", "Declare it: variable %q { type = string }.")
	case "fact":
		return nil, ev.knownFact(s, t, tree)
	case "local":
		return ev.localRef(s, t, tree)
	case "exported":
		return nil, ev.exportedRef(s, t, tree)
	case "lookup":
		return nil, ev.lookupRef(s, t, tree)
	case "param":
		if s.params == nil {
			ev.errorf(rng, "No action here", "param exists only inside actions and commands, which have parameters.")
			return nil, false
		}
		return nil, ev.known(s.params, t, tree, s.params.vars, "parameter", "Declare it: param %q { type = string }.")
	case "target":
		ev.touch()
		tree.set([]string{"target"}, ev.target)
		return nil, true
	case "each":
		if each == nil {
			ev.errorf(rng, "No for_each here", "each exists only in states with for_each.")
			return nil, false
		}
		tree.set([]string{"each"}, eachValue(each))
		return nil, true
	}
	r, rest, ok := ev.resolve(s, t)
	if !ok {
		return nil, false
	}
	return ev.stateValue(r, t, rest, tree)
}

// stepName returns the n-th name of a traversal, after a dot or in brackets.
func stepName(t hcl.Traversal, n int) (string, bool) {
	if n >= len(t) {
		return "", false
	}
	switch s := t[n].(type) {
	case hcl.TraverseAttr:
		return s.Name, true
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String {
			return s.Key.AsString(), true
		}
	}
	return "", false
}

// known adds the value of var.NAME or param.NAME to the tree.
func (ev *evaluator) known(s *scope, t hcl.Traversal, tree *names, vals map[string]cty.Value, what, hint string) bool {
	rng := rangeOf(t.SourceRange())
	name, ok := stepName(t, 1)
	ev.readVar(s, name)
	if !ok {
		tree.set([]string{t.RootName()}, cty.ObjectVal(vals))
		return true
	}
	v, ok := vals[name]
	if ok {
		tree.set([]string{t.RootName(), name}, v)
		return true
	}
	if what == "variable" && s.body.vars[name] != nil {
		return false // it has no value, which is reported where it is declared
	}
	ev.errorf(rng, "Unknown "+what, "There is no %s %q in %s.%s "+hint, what, name, s.name, Suggest(name, keysOf(vals)), name)
	return false
}

func (ev *evaluator) knownFact(s *scope, t hcl.Traversal, tree *names) bool {
	name, ok := stepName(t, 1)
	if !ok {
		tree.set([]string{"fact"}, cty.ObjectVal(s.facts))
		return true
	}
	if v, ok := s.facts[name]; ok {
		tree.set([]string{"fact", name}, v)
		return true
	}
	if ev.declaredFact(s, name) {
		return false
	}
	ev.errorf(rangeOf(t.SourceRange()), "Fact is not declared",
		"A fact is an input and must be declared before use.%s Write: fact %q { type = string }.", Suggest(name, keysOf(s.facts)), name)
	return false
}

func (ev *evaluator) localRef(s *scope, t hcl.Traversal, tree *names) ([]ref, bool) {
	name, ok := stepName(t, 1)
	if !ok || s.body.locals[name] == nil {
		ev.errorf(rangeOf(t.SourceRange()), "Unknown local", "There is no local %q in %s.%s Write: locals { %s = … }.", name, s.name, Suggest(name, keysOf(s.body.locals)), name)
		return nil, false
	}
	m := ev.local(s, name)
	if m.ok {
		tree.set([]string{"local", name}, m.val)
	}
	return m.refs, m.ok
}

func keysOf[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// resolve finds the state, block or module of a traversal, and the number of steps that name it.
func (ev *evaluator) resolve(s *scope, t hcl.Traversal) (ref, int, bool) {
	rng := rangeOf(t.SourceRange())
	at := 0
	if t.RootName() == "module" {
		name, _ := stepName(t, 1)
		m := ev.modules[name]
		if m == nil {
			ev.errorf(rng, "Unknown module", "The target has no module %q.%s", name, Suggest(name, keysOf(ev.modules)))
			return ref{}, 0, false
		}
		ev.linked(s, m)
		if output, ok := stepName(t, 2); len(t) == 2 || ok && m.body.outputs[output] != nil {
			return ref{scope: m, rng: rng}, 2, true
		}
		s, at = m, 2
	}
	kindName := t.RootName()
	if at > 0 {
		kindName, _ = stepName(t, at)
	}
	label, ok := stepName(t, at+1)
	byLabel := s.states[kindName]
	switch {
	case byLabel == nil && ev.kindKnown(s, kindName) && ok:
		ev.errorf(rng, "Unknown state", "There is no %s %q in %s; it declares no %s.", kindName, label, s.name, kindName)
		return ref{}, 0, false
	case byLabel == nil && at > 0:
		ev.errorf(rng, "Unknown name", "%q is neither an output of %s nor a kind with states in it.%s", kindName, s.name, Suggest(kindName, append(keysOf(s.states), keysOf(s.body.outputs)...)))
		return ref{}, 0, false
	case byLabel == nil:
		known := append(keysOf(s.states), "var", "local", "each", "fact", "lookup", "module", "target")
		ev.errorf(rng, "Unknown name", "%q is neither a kind with states in %s nor var, local, each, fact, lookup, module or target.%s", kindName, s.name, Suggest(kindName, known))
		return ref{}, 0, false
	case !ok:
		ev.errorf(rng, "Reference without a label", "A reference names one state: %s.LABEL.%s", kindName, Suggest("", keysOf(byLabel)))
		return ref{}, 0, false
	}
	st := byLabel[label]
	if st == nil {
		ev.errorf(rng, "Unknown state", "There is no %s %q in %s.%s", kindName, label, s.name, Suggest(label, keysOf(byLabel)))
		return ref{}, 0, false
	}
	return ev.pick(st, t, at+2, rng)
}

func (ev *evaluator) kindKnown(s *scope, name string) bool {
	return ev.prog.kinds[name] != nil || ev.prog.library.has(name) || ev.prog.root.defines[name] != nil || s.body.defines[name] != nil
}

// pick chooses the instance that the next step names, if there are several.
func (ev *evaluator) pick(st *state, t hcl.Traversal, at int, rng diag.Range) (ref, int, bool) {
	if st.decl.group {
		return ref{state: st, rng: rng}, at, true
	}
	ev.expand(st)
	if st.bad {
		return ref{}, 0, false
	}
	if !st.each {
		if len(st.keys) == 0 { // its for_each refers to itself, which is reported
			return ref{}, 0, false
		}
		return ref{state: st, inst: st.keys[0], rng: rng}, at, true
	}
	key, ok := stepName(t, at)
	if !ok {
		return ref{state: st, rng: rng}, at, true
	}
	in := st.byKey[key]
	if st.unknown {
		ev.errorf(rng, "States are not known",
			"for_each of %s.%s depends on the result of a run, so its keys are not known yet. Refer to all of its states: "+
				"%s.%s.", st.decl.kind, st.decl.label, st.decl.kind, st.decl.label)
		return ref{}, 0, false
	}
	if in == nil {
		ev.errorf(rng, "Unknown state",
			"No element of for_each of %s.%s has the key %q.%s", st.decl.kind, st.decl.label, key, Suggest(key, keysOf(st.byKey)))
		return ref{}, 0, false
	}
	return ref{state: st, inst: in, rng: rng}, at + 1, true
}

// stateValue adds the value of a reference to the tree.
func (ev *evaluator) stateValue(r ref, t hcl.Traversal, at int, tree *names) ([]ref, bool) {
	refs := []ref{r}
	var path []string
	for i := range at {
		n, _ := stepName(t, i)
		if i == 0 {
			n = t.RootName()
		}
		path = append(path, n)
	}
	switch {
	case r.state == nil:
		return ev.moduleValue(r, t, path, tree)
	case r.state.decl.group:
		if at < len(t) {
			ev.errorf(r.rng, "Unknown attribute", "A block has no attributes. Refer to a state in it.")
			return nil, false
		}
		tree.set(path, cty.EmptyObjectVal)
		return refs, true
	case r.inst == nil:
		all := map[string]cty.Value{}
		for _, in := range r.state.keys {
			v, ok := ev.wholeState(in)
			if !ok {
				return nil, false
			}
			all[in.key] = v
		}
		tree.set(path, cty.ObjectVal(all))
		return refs, true
	}
	name, ok := stepName(t, at)
	if !ok {
		v, ok := ev.wholeState(r.inst)
		tree.set(path, v)
		return refs, ok
	}
	if !ev.hasAttr(r, name) {
		return nil, false
	}
	m := ev.valueOf(r.inst, name)
	if m == nil {
		return nil, false
	}
	if m.ok {
		tree.set(append(path, name), m.val)
	}
	return refs, m.ok
}

// valueOf returns an attribute of a state, or an output of a defined kind.
func (ev *evaluator) valueOf(in *instance, name string) *memo {
	if attrOf(in.st.kind, name) != nil {
		return ev.attr(in, name)
	}
	return ev.invocationOutput(in, name)
}

func (ev *evaluator) hasAttr(r ref, name string) bool {
	k := r.state.kind
	if attrOf(k, name) != nil || attrIn(k.Outputs, name) != nil {
		return true
	}
	id := refName(r.state.decl.kind, r.state.decl.label)
	if contains(actionNames(k), name) {
		ev.errorf(r.rng, "Action as a value", "%s.%s is an action and has no value. Use it in notify: notify = [%s.%s].", id, name, id, name)
		return false
	}
	ev.errorf(r.rng, "Reference to no attribute", "%s has no attribute %q.%s", diag.FirstOne(k.Name), name, Suggest(name, slices.Concat(attrNames(k), namesOf(k.Outputs), actionNames(k))))
	return false
}

// traversalText returns a reference in its source form.
func traversalText(t hcl.Traversal) string {
	var b strings.Builder
	for i := range t {
		n, ok := stepName(t, i)
		switch {
		case i == 0:
			b.WriteString(t.RootName())
		case ok:
			b.WriteString("." + n)
		}
	}
	return b.String()
}

// namesIn returns the references in an expression. The result is cached.
func (p *Program) namesIn(e hclsyntax.Expression) []hcl.Traversal {
	found, known := p.named[e]
	if !known {
		found = e.Variables()
		p.named[e] = found
	}
	return found
}
