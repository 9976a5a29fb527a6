package query

import (
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
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
func OwnKinds(p *source.Program) ([]OwnKind, diag.List) {
	var out []OwnKind
	ds := allBodies(p, func(b *source.Body) {
		for _, name := range syntax.SortedNames(b.Defines) {
			d := b.Defines[name]
			k := *d.Schema()
			k.Attrs = slices.Clone(k.Attrs)
			for i := range k.Attrs {
				if def := d.Body.Vars[k.Attrs[i].Name].Default; def != nil {
					if v, hds := def.Value(p.Pure); !hds.HasErrors() && v.IsWhollyKnown() {
						k.Attrs[i].Default = v
					}
				}
			}
			out = append(out, OwnKind{Kind: k, Directory: b.Directory.Path, Range: d.Range})
		}
	})
	return out, ds
}

// Lookups returns all lookups of the repository: first the lookups of the top, then of the modules,
// by directory and name.
func Lookups(p *source.Program) ([]source.Lookup, diag.List) {
	var out []source.Lookup
	ds := allBodies(p, func(b *source.Body) {
		for _, name := range syntax.SortedNames(b.Directory.Lookups) {
			out = append(out, b.Directory.Lookups[name].Lookup)
		}
	})
	return out, ds
}

// allBodies calls visit for the top and all modules: the directories of modules/, and modules that
// targets name.
func allBodies(p *source.Program, visit func(*source.Body)) diag.List {
	if p.Root == nil {
		return nil
	}
	visit(p.Root)
	dirs := map[string]bool{}
	list, _ := p.Tree.ReadDir("modules") // it is optional
	for _, e := range list {
		if e.Type == repo.Dir {
			dirs[path.Join("modules", path.Base(e.Path))] = true
		}
	}
	r := &syntax.Reports{}
	for _, t := range p.Targets {
		for _, u := range TargetModules(p, r, Levels(p, r, t)) {
			dirs[u.Directory] = true
		}
	}
	defer p.Aside()()
	for _, dir := range syntax.SortedNames(dirs) {
		b, ds := p.Module(dir)
		r.Add(ds...)
		visit(b)
	}
	out := p.WithLines(r.List)
	slices.SortStableFunc(out, func(a, b diag.Diagnostic) int { return strings.Compare(a.Range.File, b.Range.File) })
	return out
}
