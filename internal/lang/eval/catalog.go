// Package eval is the evaluation of the language: the blocks of a repository become the catalog of a
// target.
//
//	p, ds := source.Load(tree, source.Options{Kinds: kinds.All(), Stdlib: stdlib.Files()})
//	c, ds := eval.Catalog(p, eval.Input{Target: "web1", Facts: facts})
//
// It is pure: the result does not depend on clock, environment or map order. An Observer follows an
// evaluation, to find the results that depend on the target itself.
package eval

import (
	"slices"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Catalog evaluates one target. The catalog is complete only when no
// diagnostic is an error. The same input gives the same catalog.
func Catalog(p *source.Program, in Input) (*catalog.Catalog, diag.List) {
	c, _, ds := Observe(p, in, nil)
	return c, ds
}

// Observe is like Catalog, but with an observer, and also returns the evaluator. The evaluator is nil
// if the target does not exist.
func Observe(p *source.Program, in Input, o Observer) (*catalog.Catalog, *Evaluator, diag.List) {
	p.Record.Begin(p.Root.Files)
	ev, ds := evaluate(p, in, o)
	if ev == nil {
		return nil, nil, source.Finish(p, ds)
	}
	for _, s := range ev.scopes() {
		if s.name == topName {
			walkScope(ev, s, -1)
			continue
		}
		s.node = ev.addGroup(s, -1, s.Prefix[:len(s.Prefix)-1], nil)
		ev.Catalog.Nodes[s.node].Locks = locksOfModule(ev, s)
		walkScope(ev, s, s.node)
	}
	addExports(ev)
	orderModules(ev)
	ev.pending.link(ev.Catalog)
	unusedOutputs(ev, in.Test)
	slices.Sort(ev.Catalog.FactsUsed)
	ev.Catalog.Files = p.Record.Files()
	return ev.Catalog, ev, source.Finish(p, ev.List)
}

// topName is how messages call the top level of the repository.
const topName = "the top level"

// evaluate makes the scopes of a target with their variables. It returns nil if the target does not
// exist.
func evaluate(p *source.Program, in Input, o Observer) (*Evaluator, diag.List) {
	t, ds := query.Choose(p, in.Target)
	if in.Test != nil {
		t, ds = chosen(p, in.Test)
	}
	if t == nil {
		return nil, ds
	}
	ev := &Evaluator{Program: p, in: in, modules: map[string]*Scope{}, owners: owners{}, asked: map[string]bool{},
		exported: map[*source.Exported]*exportedMemo{}, Catalog: &catalog.Catalog{Target: t.Name}, observed: observed{by: o}}
	if in.Test != nil {
		ev.in.Facts = factsOfTest(ev, in.Test)
	}
	ev.outputs = outputsOfTest(ev, in.Test)
	p.Loops.Begin()
	p.Secrets.Begin(secretsOfTest(ev, in.Test), in.Test != nil)
	ev.Catalog.Labels = query.TargetLabels(p, &ev.Reports, t)
	levels := query.Levels(p, &ev.Reports, t)
	for _, l := range levels {
		p.Record.Use(l.Each.Files())
	}
	ev.Catalog.Policy = query.Policy(p, &ev.Reports, levels)
	ev.Target = query.TargetValue(t.Name, ev.Catalog.Labels, levels)
	ev.Environment = query.EnvironmentOf(p, t, ev.Catalog.Labels).Value()
	uses := query.TargetModules(p, &ev.Reports, levels)
	bodies := readModules(ev, uses)
	ev.repeated = query.RepeatedModules(p, levels)
	ev.uses, ev.needsOf = uses, query.NeedsOf(p, &ev.Reports, levels, uses, alone(in.Test))
	root := newScope(ev, p.Root, "", topName)
	ev.modules[""] = root
	ownStates(ev, root)
	scopes := map[*source.ModuleUse]*Scope{}
	for i, u := range uses {
		prefix := u.Prefix()
		scopes[u] = newScope(ev, bodies[i], prefix, "module "+u.Name)
		ev.modules[u.Name] = scopes[u]
		if scopes[u].instance = u.Each != nil; u.Each == nil {
			ownStates(ev, scopes[u])
		}
	}
	ev.assignAll(levels, uses, scopes, root)
	delete(ev.modules, "")
	addRoots(ev, root, uses, scopes)
	return ev, nil
}

func readModules(ev *Evaluator, uses []*source.ModuleUse) []*source.Body {
	out := make([]*source.Body, len(uses))
	for i, u := range uses {
		b, ds := ev.Program.Module(u.Directory)
		ev.Add(ds...)
		if len(b.Files) == 0 && !ds.HasErrors() {
			ev.Errorf(u.Range, "Empty module", "The directory %s contains no *.hcl file.", u.Directory)
		}
		out[i] = b
	}
	return out
}

// assignAll assigns every scope its variables. The layers are, from low to high: the default in the
// module, the repository, the roles, the environment after its parents, the target groups, the target, and the command
// line. At each level, vars override data, and the module block overrides both.
func (ev *Evaluator) assignAll(levels []*source.Level, uses []*source.ModuleUse, scopes map[*source.ModuleUse]*Scope,
	root *Scope) {
	above, testOK := ev.above()
	declared := map[string]bool{}
	for n := range root.body.Vars {
		declared[n] = true
	}
	root.Facts = ev.factsOf(root.body)
	root.name = topName
	given := make([][]VariableLayer, len(levels)+1)
	good := testOK
	for i, l := range append([]*source.Level{&ev.Program.Top}, levels...) {
		mark := ev.observed.mark()
		layers, ok := levelLayers(ev, l)
		if i < len(levels) { // the last one is the target itself
			ev.observed.made(Outcome{Unshared: true}, mark)
		}
		given[i], good = layers, good && ok
	}
	for _, u := range uses {
		s := scopes[u]
		for n := range s.body.Vars {
			declared[n] = true
		}
		s.Facts = ev.factsOf(s.body)
		layers, ok := moduleLayers(ev, u, s, levels, given)
		if ok && good {
			s.layers = append(layers, above...)
			s.Assigned = assignVariables(ev, s, s.layers)
		}
	}
	if good {
		root.layers = append(slices.Concat(given...), above...)
		root.Assigned = assignVariables(ev, root, root.layers)
	}
	own := len(given) - 1
	for _, l := range append(slices.Clone(given[own]), above...) {
		unknownVars(ev, l, declared, "Neither the top level nor a module of the target")
	}
	unknownVariable(ev, levels, slices.Concat(given[:own]...), declared)
}

// above returns the layers above all levels: of a test, and of the command line.
func (ev *Evaluator) above() ([]VariableLayer, bool) {
	line := commandLine(ev.in.Vars)
	if ev.in.Test == nil {
		return []VariableLayer{line}, true
	}
	test, ok := LayerOf(ev, "test", ev.in.Test.Vars, nil)
	return []VariableLayer{test, line}, ok
}

// moduleLayers returns the layers of one module: the layers of each level, each followed by the
// arguments of its module block.
func moduleLayers(ev *Evaluator, u *source.ModuleUse, s *Scope, levels []*source.Level,
	given [][]VariableLayer) ([]VariableLayer, bool) {
	layers, good := slices.Clone(given[0]), true
	for i, l := range levels {
		layers = append(layers, given[i+1]...)
		a := u.Vars[l.String()]
		if a.Attribute == nil {
			continue
		}
		name := "module block"
		if l.Kind != "target" {
			name = l.String() + ", module block"
		}
		block, ok := LayerOf(ev, name, a.Attribute, a.Each)
		unknownVars(ev, block, syntax.NameSet(s.body.Vars), "No variable block in "+u.Directory)
		layers, good = append(layers, block), good && ok
	}
	return layers, good
}

// unknownVariable checks the modules of other targets before it reports a variable as unknown. The
// values of the repository, a role or a group apply to all targets.
func unknownVariable(ev *Evaluator, levels []*source.Level, layers []VariableLayer, declared map[string]bool) {
	missing := false
	for _, l := range layers {
		for n := range l.values {
			missing = missing || !declared[n]
		}
	}
	if !missing {
		return
	}
	known, all := query.AllDeclared(ev.Program, levels)
	if !all {
		return
	}
	for n := range known {
		declared[n] = true
	}
	for _, l := range layers {
		unknownVars(ev, l, declared, "No module of the repository")
	}
}

func addRoots(ev *Evaluator, root *Scope, uses []*source.ModuleUse, scopes map[*source.ModuleUse]*Scope) {
	ev.All = append(ev.All, root)
	for _, u := range uses {
		ev.All = append(ev.All, scopes[u])
	}
}

// scopes returns the top level and the modules whose variables are all valid, in the target's
// order. Diagnostics that follow from an invalid variable would be noise.
func (ev *Evaluator) scopes() []*Scope {
	return slices.DeleteFunc(slices.Clone(ev.All), func(s *Scope) bool { return !s.Assigned })
}
