// Package source reads a repository: its text becomes blocks of the language.
//
//	p, ds := source.Load(tree, source.Options{Kinds: kinds.All(), Stdlib: stdlib.Files()})
//	body, ds := p.Module("modules/web")
//
// It is pure: files are read only from the tree. Nothing is evaluated for a target. Bad input gives
// diagnostics with a place, never a panic.
package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// Load reads the top level of a repository. Modules are read when a target
// needs them. The program is usable only when no diagnostic is an error.
func Load(tree repo.Tree, o Options) (*Program, diag.List) {
	p := &Program{
		Top: Level{Kind: "repository"}, Roles: map[string]*Level{},
		more:     moreTargets{enrolled: map[string]*enrolled{}},
		Commands: map[string]*Command{}, Tree: tree, kinds: map[string]*kind.Kind{}, modules: map[string]parsed{},
		Sources: map[string][]byte{}, templates: templateFiles{parsed: map[string]hclsyntax.Expression{}},
		contexts: map[*Directory]*hcl.EvalContext{}, Record: newRecord(),
		beside: o.Beside, named: map[hclsyntax.Expression][]hcl.Traversal{}, bodies: map[string]*hclsyntax.Body{},
		Pure:    &hcl.EvalContext{Functions: functions.Pure()},
		Working: func(diag.Range) {},
		Loops:   syntax.NewLoops(),
	}
	if o.Beside != nil {
		p.Loops = o.Beside.Loops
	}
	if w, ok := tree.(Watched); ok {
		p.Working = w.Working
	}
	p.Secrets.source, _ = tree.(Secrets)
	for _, k := range o.Kinds {
		p.kinds[k.Name] = &k
	}
	var ds diag.List
	if o.Stdlib != nil {
		ds = append(ds, p.loadStdlib(o.Stdlib)...)
	}
	root, more := p.parseDirectory(p.newDirectory(tree, "."), true)
	ds = append(ds, more...)
	p.Root = root
	if !ds.HasErrors() {
		ds = append(ds, p.generate()...)
	}
	p.enrol()
	ds = append(ds, p.readScopes(!ds.HasErrors())...)
	p.Record.forget(root.Directory.Path)
	if root != nil && len(root.Files) == 0 {
		ds = append(ds, diag.Errorf(diag.Range{File: "fettle.hcl"}, "Nothing is configured",
			"The repository has no configuration: its top directory contains no *.hcl file and no file of another form of the language. Run fettle init, or write fettle.hcl."))
	}
	return p, p.WithLines(ds)
}

// Module reads the module in a directory, once.
func (p *Program) Module(dir string) (*Body, diag.List) {
	m, ok := p.modules[dir]
	if !ok {
		m.body, m.ds = p.parseDirectory(p.newDirectory(p.Tree, dir), false)
		m.ds = p.WithLines(append(m.ds, p.vendored(dir, m.body)...))
		p.modules[dir] = m
	}
	for _, f := range m.body.Files {
		p.Record.used[f] = true
	}
	return m.body, slices.Clone(m.ds)
}

// ReadDeclarations reads all modules that the repository names. They are not part of a target.
func (p *Program) ReadDeclarations() *declarations {
	a := &declarations{Vars: map[string]bool{}, Missing: map[string]bool{}}
	defer p.Aside()()
	seen := map[string]bool{}
	for _, l := range p.everyLevel() {
		for _, u := range p.LevelModules(&syntax.Reports{}, l) {
			if !seen[u.Directory] {
				seen[u.Directory] = true
				a.add(p, u)
			}
		}
	}
	return a
}

// add adds the variables of a module. The errors of the module are reported elsewhere.
func (a *declarations) add(p *Program, u *ModuleUse) {
	if e, err := p.Tree.Stat(u.Directory); err != nil || e.Type != repo.Dir {
		a.Missing[u.Directory] = true
		return
	}
	b, _ := p.Module(u.Directory)
	for n := range b.Vars {
		a.Vars[n] = true
	}
}

// everyLevel returns all levels that can name modules.
func (p *Program) everyLevel() []*Level {
	out := []*Level{&p.Top}
	for _, name := range syntax.SortedNames(p.Roles) {
		out = append(out, p.Roles[name])
	}
	for _, g := range p.Groups {
		out = append(out, &g.Level)
	}
	for _, t := range p.Targets {
		out = append(out, &t.Level)
	}
	return out
}

// HasTargets reports whether the repository declares targets. A for_each without elements declares none, but then the
// implicit target does not exist either.
func (p *Program) HasTargets() bool { return len(p.Targets) > 0 || p.more.generates }
