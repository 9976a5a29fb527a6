package lang

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
)

// Catalog evaluates one target. The catalog is complete only when no
// diagnostic is an error. The same input gives the same catalog.
func (p *Program) Catalog(in Input) (*catalog.Catalog, diag.List) {
	c, _, ds := p.catalog(in, nil)
	return c, ds
}

// catalog is like Catalog, but keeps a trail and also returns the evaluator.
func (p *Program) catalog(in Input, t *trail) (*catalog.Catalog, *evaluator, diag.List) {
	p.used = map[string]bool{} // by this target
	for _, f := range p.root.files {
		p.used[f] = true
	}
	ev, ds := p.evaluate(in, t)
	if ev == nil {
		return nil, nil, finish(p, ds)
	}
	for _, s := range ev.scopes() {
		if s.name == topName {
			ev.walkScope(s, -1)
			continue
		}
		s.node = ev.addGroup(s, -1, s.prefix[:len(s.prefix)-1], nil)
		ev.walkScope(s, s.node)
	}
	ev.exports()
	ev.orderModules()
	ev.link()
	ev.unusedOutputs(in.Test)
	slices.Sort(ev.cat.FactsUsed)
	ev.cat.Files = sortedKeys(p.used)
	return ev.cat, ev, finish(p, ev.list)
}

func finish(p *Program, ds diag.List) diag.List {
	ds = p.lines(ds)
	ds.Sort()
	return ds
}

// topName is how messages call the top level of the repository.
const topName = "the top level"

// evaluate makes the scopes of a target with their variables. It returns nil if the target does not
// exist.
func (p *Program) evaluate(in Input, tr *trail) (*evaluator, diag.List) {
	t, ds := p.choose(in.Target)
	if in.Test != nil {
		t, ds = p.chosen(in.Test)
	}
	if t == nil {
		return nil, ds
	}
	ev := &evaluator{prog: p, in: in, modules: map[string]*scope{}, owners: owners{}, asked: map[string]bool{}, exported: map[*Exported]*exportedMemo{}, cat: &catalog.Catalog{Target: t.name}, trail: tr}
	if in.Test != nil {
		ev.in.Facts = ev.factsOfTest(in.Test)
	}
	ev.outputs = ev.outputsOfTest(in.Test)
	p.loops.begin()
	p.secrets.begin(ev.secretsOfTest(in.Test), in.Test != nil)
	ev.cat.Labels = p.targetLabels(&ev.reports, t)
	levels := p.levels(&ev.reports, t)
	ev.cat.Policy = p.policy(&ev.reports, levels)
	ev.target = targetValue(t.name, ev.cat.Labels, levels)
	uses := p.targetModules(&ev.reports, levels)
	bodies := ev.readModules(uses)
	ev.uses, ev.needsOf = uses, p.needsOf(&ev.reports, levels, uses, alone(in.Test))
	root := ev.newScope(p.root, "", topName)
	ev.modules[""] = root
	ev.own(root)
	scopes := map[*moduleUse]*scope{}
	for i, u := range uses {
		prefix := modulePrefix(u.name)
		scopes[u] = ev.newScope(bodies[i], prefix, "module "+u.name)
		ev.modules[u.name] = scopes[u]
		ev.own(scopes[u])
	}
	ev.assignAll(levels, uses, scopes, root)
	delete(ev.modules, "")
	ev.roots(root, uses, scopes)
	return ev, nil
}

// modulePrefix returns the prefix of the names of a module's states.
func modulePrefix(name string) string {
	if !identifier(name) {
		return `module["` + name + `"].`
	}
	return "module." + name + "."
}

// targetValue returns the value of `target` in expressions.
func targetValue(name string, texts map[string]string, levels []*level) cty.Value {
	labels := cty.MapValEmpty(cty.String)
	if len(texts) > 0 {
		m := map[string]cty.Value{}
		for k, v := range texts {
			m[k] = cty.StringVal(v)
		}
		labels = cty.MapVal(m)
	}
	named := func(what string) cty.Value {
		out := []cty.Value{}
		for _, l := range levels {
			if l.what == what {
				out = append(out, cty.StringVal(l.name))
			}
		}
		if len(out) == 0 {
			return cty.ListValEmpty(cty.String)
		}
		return cty.ListVal(out)
	}
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name), "labels": labels, "roles": named("role"), "groups": named("target_group")})
}

func (ev *evaluator) readModules(uses []*moduleUse) []*body {
	out := make([]*body, len(uses))
	for i, u := range uses {
		b, ds := ev.prog.module(u.dir)
		ev.add(ds...)
		if len(b.files) == 0 && !ds.HasErrors() {
			ev.errorf(u.rng, "Empty module", "The directory %s contains no *.hcl file.", u.dir)
		}
		out[i] = b
	}
	return out
}

// assignAll assigns every scope its variables. The layers are, from low to high: the default in the
// module, the repository, the roles, the target groups, the target, and the command line. At each
// level, vars override data, and the module block overrides both.
func (ev *evaluator) assignAll(levels []*level, uses []*moduleUse, scopes map[*moduleUse]*scope, root *scope) {
	above, testOK := ev.above()
	declared := map[string]bool{}
	for n := range root.body.vars {
		declared[n] = true
	}
	root.facts = ev.factsOf(root.body)
	root.name = topName
	given := make([][]layer, len(levels)+1)
	good := testOK
	for i, l := range append([]*level{&ev.prog.top}, levels...) {
		mark := ev.mark()
		layers, ok := ev.levelLayers(l)
		if i < len(levels) { // the last one is the target itself
			ev.unshared(mark)
		}
		given[i], good = layers, good && ok
	}
	for _, u := range uses {
		s := scopes[u]
		for n := range s.body.vars {
			declared[n] = true
		}
		s.facts = ev.factsOf(s.body)
		layers, ok := ev.moduleLayers(u, s, levels, given)
		if ok && good {
			s.layers = append(layers, above...)
			s.assigned = ev.assign(s, s.layers)
		}
	}
	if good {
		root.layers = append(slices.Concat(given...), above...)
		root.assigned = ev.assign(root, root.layers)
	}
	own := len(given) - 1
	for _, l := range append(slices.Clone(given[own]), above...) {
		ev.unknownVars(l, declared, "Neither the top level nor a module of the target")
	}
	ev.unknownVariable(levels, slices.Concat(given[:own]...), declared)
}

// above returns the layers above all levels: of a test, and of the command line.
func (ev *evaluator) above() ([]layer, bool) {
	line := commandLine(ev.in.Vars)
	if ev.in.Test == nil {
		return []layer{line}, true
	}
	test, ok := ev.layerOf("test", ev.in.Test.vars)
	return []layer{test, line}, ok
}

// moduleLayers returns the layers of one module: the layers of each level, each followed by the
// arguments of its module block.
func (ev *evaluator) moduleLayers(u *moduleUse, s *scope, levels []*level, given [][]layer) ([]layer, bool) {
	layers, good := slices.Clone(given[0]), true
	for i, l := range levels {
		layers = append(layers, given[i+1]...)
		a := u.vars[l.String()]
		if a == nil {
			continue
		}
		name := "module block"
		if l.what != "target" {
			name = l.String() + ", module block"
		}
		block, ok := ev.layerOf(name, a)
		ev.unknownVars(block, boolSet(s.body.vars), "No variable block in "+u.dir)
		layers, good = append(layers, block), good && ok
	}
	return layers, good
}

// unknownVariable checks the modules of other targets before it reports a variable as unknown. The
// values of the repository, a role or a group apply to all targets.
func (ev *evaluator) unknownVariable(levels []*level, layers []layer, declared map[string]bool) {
	missing := false
	for _, l := range layers {
		for n := range l.values {
			missing = missing || !declared[n]
		}
	}
	if !missing {
		return
	}
	known, all := ev.prog.allDeclared(levels)
	if !all {
		return
	}
	for n := range known {
		declared[n] = true
	}
	for _, l := range layers {
		ev.unknownVars(l, declared, "No module of the repository")
	}
}

func boolSet[V any](m map[string]V) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

func (ev *evaluator) roots(root *scope, uses []*moduleUse, scopes map[*moduleUse]*scope) {
	ev.all = append(ev.all, root)
	for _, u := range uses {
		ev.all = append(ev.all, scopes[u])
	}
}

// scopes returns the top level and the modules whose variables are all valid, in the target's
// order. Diagnostics that follow from an invalid variable would be noise.
func (ev *evaluator) scopes() []*scope {
	return slices.DeleteFunc(slices.Clone(ev.all), func(s *scope) bool { return !s.assigned })
}
