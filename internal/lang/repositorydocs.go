package lang

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// OwnKind is a kind that the repository defines, for its documentation.
type OwnKind struct {
	kind.Kind
	Directory string // of the module that it is known in, "." for everywhere
	Range     diag.Range
}

// OwnKinds returns the kinds that the repository defines: first the kinds of the top, then of the
// modules, by directory and name.
func (p *Program) OwnKinds() ([]OwnKind, diag.List) {
	var out []OwnKind
	ds := p.allBodies(func(b *body) {
		for _, name := range sortedKeys(b.defines) {
			d := b.defines[name]
			k := *d.schema()
			k.Attrs = slices.Clone(k.Attrs)
			for i := range k.Attrs {
				if def := d.body.vars[k.Attrs[i].Name].def; def != nil {
					if v, hds := def.Value(p.pure); !hds.HasErrors() && v.IsWhollyKnown() {
						k.Attrs[i].Default = v
					}
				}
			}
			out = append(out, OwnKind{Kind: k, Directory: b.directory.dir, Range: d.rng})
		}
	})
	return out, ds
}

// Lookups returns all lookups of the repository: first the lookups of the top, then of the modules,
// by directory and name.
func (p *Program) Lookups() ([]Lookup, diag.List) {
	var out []Lookup
	ds := p.allBodies(func(b *body) {
		for _, name := range sortedKeys(b.directory.lookups) {
			out = append(out, b.directory.lookups[name].Lookup)
		}
	})
	return out, ds
}

// allBodies calls visit for the top and all modules: the directories of modules/, and modules that
// targets name.
func (p *Program) allBodies(visit func(*body)) diag.List {
	if p.root == nil {
		return nil
	}
	visit(p.root)
	dirs := map[string]bool{}
	list, _ := p.tree.ReadDir("modules") // it is optional
	for _, e := range list {
		if e.Type == repo.Dir {
			dirs[path.Join("modules", path.Base(e.Path))] = true
		}
	}
	r := &reports{}
	for _, t := range p.targets {
		for _, u := range p.targetModules(r, p.levels(r, t)) {
			dirs[u.dir] = true
		}
	}
	defer func(used map[string]bool) { p.used = used }(p.used) // these results do not become part of a target
	p.used = map[string]bool{}
	for _, dir := range sortedKeys(dirs) {
		b, ds := p.module(dir)
		r.add(ds...)
		visit(b)
	}
	out := p.lines(r.list)
	slices.SortStableFunc(out, func(a, b diag.Diagnostic) int { return strings.Compare(a.Range.File, b.Range.File) })
	return out
}
