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
	ev, ds := p.evaluate(in)
	if ev == nil {
		return nil, finish(p, ds)
	}
	for _, s := range ev.scopes() {
		if s.name == topName {
			ev.walkScope(s, -1)
			continue
		}
		s.node = ev.addGroup(s, -1, s.prefix[:len(s.prefix)-1], nil)
		ev.walkScope(s, s.node)
	}
	ev.link()
	slices.Sort(ev.cat.FactsUsed)
	ev.cat.Files = sortedKeys(p.used)
	return ev.cat, finish(p, ev.list)
}

func finish(p *Program, ds diag.List) diag.List {
	ds = p.lines(ds)
	ds.Sort()
	return ds
}

// topName is how messages call the top level of the repository.
const topName = "the top level"

// evaluate makes the scopes of a target, with their variables. nil when there
// is no such target.
func (p *Program) evaluate(in Input) (*evaluator, diag.List) {
	t, ds := p.choose(in.Target)
	if t == nil {
		return nil, ds
	}
	ev := &evaluator{prog: p, in: in, modules: map[string]*scope{}, cat: &catalog.Catalog{Target: t.name}}
	ev.cat.Labels = p.targetLabels(&ev.reports, t)
	ev.cat.Policy = p.policy(&ev.reports, t)
	ev.target = targetValue(ev.cat)
	uses := p.targetModules(&ev.reports, t)
	bodies := ev.readModules(uses)
	root := ev.newScope(p.root, "", topName)
	ev.modules[""] = root
	scopes := map[*moduleUse]*scope{}
	for i, u := range uses {
		prefix := "module." + u.name + "."
		if !identifier(u.name) {
			prefix = `module["` + u.name + `"].`
		}
		scopes[u] = ev.newScope(bodies[i], prefix, "module "+u.name)
		ev.modules[u.name] = scopes[u]
	}
	ev.assignAll(t, uses, scopes, root)
	delete(ev.modules, "")
	ev.roots(root, uses, scopes)
	return ev, nil
}

func targetValue(c *catalog.Catalog) cty.Value {
	labels := cty.MapValEmpty(cty.String)
	if len(c.Labels) > 0 {
		m := map[string]cty.Value{}
		for k, v := range c.Labels {
			m[k] = cty.StringVal(v)
		}
		labels = cty.MapVal(m)
	}
	return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(c.Target), "labels": labels})
}

func (ev *evaluator) readModules(uses []*moduleUse) []*body {
	out := make([]*body, len(uses))
	for i, u := range uses {
		b, ds := ev.prog.module(u.dir)
		ev.add(ds...)
		if len(b.files) == 0 && !ds.HasErrors() {
			ev.errorf(u.rng, "Empty module", "The folder %s has no *.hcl file.", u.dir)
		}
		out[i] = b
	}
	return out
}

// assignAll gives every scope its variables. Low to high: the default in the
// module, vars of the repository, vars of the target, vars of the target's
// module block, the command line.
func (ev *evaluator) assignAll(t *target, uses []*moduleUse, scopes map[*moduleUse]*scope, root *scope) {
	repo, ok1 := ev.layerOf("repository", ev.prog.repoVars)
	own, ok2 := ev.layerOf("target", t.vars)
	line := commandLine(ev.in.Vars)
	declared := map[string]bool{}
	for n := range root.body.vars {
		declared[n] = true
	}
	root.facts = ev.factsOf(root.body)
	root.name = topName
	good := ok1 && ok2
	for _, u := range uses {
		s := scopes[u]
		for n := range s.body.vars {
			declared[n] = true
		}
		s.facts = ev.factsOf(s.body)
		mod, ok := ev.layerOf("module block", u.vars)
		if ok && good {
			ev.unknownVars(mod, boolSet(s.body.vars), "No variable block in "+u.dir)
			s.layers = []layer{repo, own, mod, line}
			s.assigned = ev.assign(s, s.layers)
		}
	}
	if good {
		root.layers = []layer{repo, own, line}
		root.assigned = ev.assign(root, root.layers)
	}
	ev.unknownVars(own, declared, "Neither the top level nor a module of the target")
	ev.unknownVars(line, declared, "Neither the top level nor a module of the target")
	ev.unknownRepoVars(repo, declared)
}

// unknownRepoVars looks into the modules of other targets before it complains:
// the repository's vars are for all of them.
func (ev *evaluator) unknownRepoVars(repo layer, declared map[string]bool) {
	missing := false
	for n := range repo.values {
		missing = missing || !declared[n]
	}
	if !missing {
		return
	}
	quiet := &reports{}
	for _, t := range ev.prog.targets {
		for _, u := range ev.prog.targetModules(quiet, t) {
			b, _ := ev.prog.module(u.dir)
			for n := range b.vars {
				declared[n] = true
			}
		}
	}
	ev.unknownVars(repo, declared, "No module of the repository")
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

// scopes gives the top level and the modules whose variables are all right,
// in the target's order: what a bad variable would bring is noise.
func (ev *evaluator) scopes() []*scope {
	return slices.DeleteFunc(slices.Clone(ev.all), func(s *scope) bool { return !s.assigned })
}
