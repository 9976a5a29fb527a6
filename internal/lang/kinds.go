package lang

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/repo"
)

// Kinds returns the schema of every kind that the repository's top level can use, sorted by name:
// those written in Go, the standard library's, and its own.
func (p *Program) Kinds() []kind.Kind {
	var out []kind.Kind
	for _, k := range p.kinds {
		out = append(out, *k)
	}
	for n := range p.library.file {
		_, _ = p.libraryKind(n) // a kind of a broken file is missing
	}
	sets := []map[string]*define{p.library.defines}
	if p.root != nil {
		sets = append(sets, p.root.defines)
	}
	for _, set := range sets {
		for _, d := range set {
			out = append(out, *d.schema())
		}
	}
	slices.SortFunc(out, func(a, b kind.Kind) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ModuleKinds returns the schema of every kind that a directory of modules/ defines for itself,
// sorted by directory and name; a name can occur several times.
func (p *Program) ModuleKinds() ([]kind.Kind, diag.List) {
	list, err := p.tree.ReadDir("modules")
	if err != nil {
		return nil, nil // there are none
	}
	var out []kind.Kind
	var ds diag.List
	for _, e := range list {
		if e.Type != repo.Dir {
			continue
		}
		b, more := p.module(e.Path)
		ds = append(ds, more...)
		for _, name := range sortedKeys(b.defines) {
			out = append(out, *b.defines[name].schema())
		}
	}
	return out, ds
}
