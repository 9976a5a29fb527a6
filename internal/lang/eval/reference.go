package eval

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// variablesOf returns the root values of traversals, and their references.
func variablesOf(ev *Evaluator, s *Scope, each map[string]cty.Value,
	ts []hcl.Traversal) (map[string]cty.Value, []reference, bool) {
	tree := &names{}
	var refs []reference
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
func (ev *Evaluator) variable(s *Scope, each map[string]cty.Value, t hcl.Traversal, tree *names) ([]reference, bool) {
	rng := syntax.RangeOf(t.SourceRange())
	root := t.RootName()
	switch root {
	case "var":
		return nil, knownValue(ev, s, t, tree, s.Vars, "variable", "Declare it: variable %q { type = string }.")
	case "fact":
		return nil, knownFact(ev, s, t, tree)
	case "local":
		return localRef(ev, s, t, tree)
	case "exported":
		return nil, ev.exportedRef(s, t, tree)
	case "lookup":
		return nil, lookupRef(ev, s, t, tree)
	case "param":
		if s.params == nil {
			ev.Errorf(rng, "No action here", "param exists only inside actions and commands, which have parameters.")
			return nil, false
		}
		return nil, knownValue(ev, s.params, t, tree, s.params.Vars, "parameter", "Declare it: param %q { type = string }.")
	case "target":
		ev.observed.read(Reading{})
		tree.set([]string{"target"}, ev.Target)
		return nil, true
	case "environment":
		tree.set([]string{"environment"}, ev.Environment)
		return nil, true
	case "each":
		if each == nil {
			ev.Errorf(rng, "No for_each here", "each exists only in blocks with for_each.")
			return nil, false
		}
		tree.set([]string{"each"}, cty.ObjectVal(each))
		return nil, true
	}
	if all, named := ev.allModules(s, t); named {
		return modulesValue(ev, s, all, t, tree)
	}
	r, rest, ok := ev.resolve(s, t)
	if !ok {
		return nil, false
	}
	return stateValue(ev, r, t, rest, tree)
}

// knownValue adds the value of var.NAME or param.NAME to the tree.
func knownValue(ev *Evaluator, s *Scope, t hcl.Traversal, tree *names, vals map[string]cty.Value, what,
	hint string) bool {
	rng := syntax.RangeOf(t.SourceRange())
	name, ok := syntax.StepName(t, 1)
	ev.observed.read(Reading{Scope: s, Variable: name})
	if !ok {
		tree.set([]string{t.RootName()}, cty.ObjectVal(vals))
		return true
	}
	v, ok := vals[name]
	if ok {
		tree.set([]string{t.RootName(), name}, v)
		return true
	}
	if what == "variable" && s.body.Vars[name] != nil {
		return false // it has no value, which is reported where it is declared
	}
	ev.Errorf(rng, "Unknown "+what, "There is no %s %q in %s.%s "+hint, what, name, s.name,
		syntax.Suggest(name, syntax.Names(vals)), name)
	return false
}

func knownFact(ev *Evaluator, s *Scope, t hcl.Traversal, tree *names) bool {
	name, ok := syntax.StepName(t, 1)
	if !ok {
		tree.set([]string{"fact"}, cty.ObjectVal(s.Facts))
		return true
	}
	if v, ok := s.Facts[name]; ok {
		tree.set([]string{"fact", name}, v)
		return true
	}
	if declaredFact(ev, s, name) {
		return false
	}
	ev.Errorf(syntax.RangeOf(t.SourceRange()), "Fact is not declared",
		"A fact is an input and must be declared before use.%s Write: fact %q { type = string }.",
		syntax.Suggest(name, syntax.Names(s.Facts)), name)
	return false
}

func localRef(ev *Evaluator, s *Scope, t hcl.Traversal, tree *names) ([]reference, bool) {
	name, ok := syntax.StepName(t, 1)
	if !ok || s.body.Locals[name] == nil {
		ev.Errorf(syntax.RangeOf(t.SourceRange()), "Unknown local",
			"There is no local %q in %s.%s Write: locals { %s = … }.", name, s.name,
			syntax.Suggest(name, syntax.Names(s.body.Locals)), name)
		return nil, false
	}
	m := ev.local(s, name)
	if m.OK {
		tree.set([]string{"local", name}, m.Value)
	}
	return m.refs, m.OK
}

// resolve finds the state, block or module of a traversal, and the number of steps that name it.
func (ev *Evaluator) resolve(s *Scope, t hcl.Traversal) (reference, int, bool) {
	rng := syntax.RangeOf(t.SourceRange())
	at := 0
	if t.RootName() == "module" {
		m, n := moduleOf(ev, t)
		if m == nil {
			return reference{}, 0, false
		}
		ev.observed.read(Reading{Scope: s, Module: m})
		if output, ok := syntax.StepName(t, n); len(t) == n || ok && m.body.Outputs[output] != nil {
			return reference{scope: m, rng: rng}, n, true
		}
		s, at = m, n
	}
	kindName := t.RootName()
	if at > 0 {
		kindName, _ = syntax.StepName(t, at)
	}
	label, ok := syntax.StepName(t, at+1)
	byLabel := s.states[kindName]
	switch {
	case byLabel == nil && ev.Program.HasKind(kindName, s.body) && ok:
		ev.Errorf(rng, "Unknown state", "There is no %s %q in %s; it declares no %s.", kindName, label, s.name, kindName)
		return reference{}, 0, false
	case byLabel == nil && at > 0:
		ev.Errorf(rng, "Unknown name", "%q is neither an output of %s nor a kind with states in it.%s", kindName, s.name,
			syntax.Suggest(kindName, append(syntax.Names(s.states), syntax.Names(s.body.Outputs)...)))
		return reference{}, 0, false
	case byLabel == nil:
		known := append(syntax.Names(s.states), "var", "local", "each", "fact", "lookup", "module", "target",
			"environment")
		ev.Errorf(rng, "Unknown name", "%q is neither a kind with states in %s nor var, local, each, fact, lookup, "+
			"module, target or environment.%s", kindName, s.name, syntax.Suggest(kindName, known))
		return reference{}, 0, false
	case !ok:
		ev.Errorf(rng, "Reference without a label", "A reference names one state: %s.LABEL.%s", kindName,
			syntax.Suggest("", syntax.Names(byLabel)))
		return reference{}, 0, false
	}
	st := byLabel[label]
	if st == nil {
		ev.Errorf(rng, "Unknown state", "There is no %s %q in %s.%s", kindName, label, s.name,
			syntax.Suggest(label, syntax.Names(byLabel)))
		return reference{}, 0, false
	}
	return pickInstance(ev, st, t, at+2, rng)
}

// pickInstance chooses the instance that the next step names, if there are several.
func pickInstance(ev *Evaluator, st *State, t hcl.Traversal, at int, rng diag.Range) (reference, int, bool) {
	if st.decl.Group {
		return reference{state: st, rng: rng}, at, true
	}
	ev.expand(st)
	if st.bad {
		return reference{}, 0, false
	}
	if !st.each {
		if len(st.Keys) == 0 { // its for_each refers to itself, which is reported
			return reference{}, 0, false
		}
		return reference{state: st, instance: st.Keys[0], rng: rng}, at, true
	}
	key, ok := syntax.StepName(t, at)
	if !ok {
		return reference{state: st, rng: rng}, at, true
	}
	in := st.byKey[key]
	if st.unknown {
		ev.Errorf(rng, "States are not known",
			"for_each of %s.%s depends on the result of a run, so its keys are not known yet. Refer to all of its states: "+
				"%s.%s.", st.decl.Kind, st.decl.Label, st.decl.Kind, st.decl.Label)
		return reference{}, 0, false
	}
	if in == nil {
		ev.Errorf(rng, "Unknown state",
			"No element of for_each of %s.%s has the key %q.%s", st.decl.Kind, st.decl.Label, key,
			syntax.Suggest(key, syntax.Names(st.byKey)))
		return reference{}, 0, false
	}
	return reference{state: st, instance: in, rng: rng}, at + 1, true
}

// stateValue adds the value of a reference to the tree.
func stateValue(ev *Evaluator, r reference, t hcl.Traversal, at int, tree *names) ([]reference, bool) {
	refs := []reference{r}
	var path []string
	for i := range at {
		n, _ := syntax.StepName(t, i)
		if i == 0 {
			n = t.RootName()
		}
		path = append(path, n)
	}
	switch {
	case r.state == nil:
		return moduleValue(ev, r, t, path, tree)
	case r.state.decl.Group:
		if at < len(t) {
			ev.Errorf(r.rng, "Unknown attribute", "A block has no attributes. Refer to a state in it.")
			return nil, false
		}
		tree.set(path, cty.EmptyObjectVal)
		return refs, true
	case r.instance == nil:
		all := map[string]cty.Value{}
		for _, in := range r.state.Keys {
			v, ok := wholeState(ev, in)
			if !ok {
				return nil, false
			}
			all[in.key] = v
		}
		tree.set(path, cty.ObjectVal(all))
		return refs, true
	}
	name, ok := syntax.StepName(t, at)
	if !ok {
		v, ok := wholeState(ev, r.instance)
		tree.set(path, v)
		return refs, ok
	}
	if !hasAttr(ev, r, name) {
		return nil, false
	}
	m := valueOf(ev, r.instance, name)
	if m == nil {
		return nil, false
	}
	if m.OK {
		tree.set(append(path, name), m.Value)
	}
	return refs, m.OK
}

// valueOf returns an attribute of a state, or an output of a defined kind.
func valueOf(ev *Evaluator, in *Instance, name string) *Memo {
	if attrOf(in.State.kind, name) != nil {
		return ev.Attr(in, name)
	}
	return invocationOutput(ev, in, name)
}

func hasAttr(ev *Evaluator, r reference, name string) bool {
	k := r.state.kind
	if attrOf(k, name) != nil || attrIn(k.Outputs, name) != nil {
		return true
	}
	id := refName(r.state.decl.Kind, r.state.decl.Label)
	if slices.Contains(actionNames(k), name) {
		ev.Errorf(r.rng, "Action as a value", "%s.%s is an action and has no value. Use it in notify: notify = [%s.%s].",
			id, name, id, name)
		return false
	}
	ev.Errorf(r.rng, "Reference to no attribute", "%s has no attribute %q.%s", diag.FirstOne(k.Name), name,
		syntax.Suggest(name, slices.Concat(attrNames(k), namesOf(k.Outputs), actionNames(k))))
	return false
}
