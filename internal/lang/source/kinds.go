package source

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/syntax"
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
	sets := []map[string]*Define{p.library.defines}
	if p.Root != nil {
		sets = append(sets, p.Root.Defines)
	}
	for _, set := range sets {
		for _, d := range set {
			out = append(out, *d.Schema())
		}
	}
	slices.SortFunc(out, func(a, b kind.Kind) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ModuleKinds returns the schema of every kind that a directory of modules/ defines for itself,
// sorted by directory and name; a name can occur several times.
func (p *Program) ModuleKinds() ([]kind.Kind, diag.List) {
	list, err := p.Tree.ReadDir("modules")
	if err != nil {
		return nil, nil // there are none
	}
	var out []kind.Kind
	var ds diag.List
	for _, e := range list {
		if e.Type != repo.Dir {
			continue
		}
		b, more := p.Module(e.Path)
		ds = append(ds, more...)
		for _, name := range syntax.SortedNames(b.Defines) {
			out = append(out, *b.Defines[name].Schema())
		}
	}
	return out, ds
}

// FindKind returns the kind of a name in a body: in Go, in the module itself, in the standard
// library, or at the repository's top. A kind of the language has a definition. The kind is nil if
// there is none.
func (p *Program) FindKind(name string, b *Body) (*kind.Kind, *Define, diag.List) {
	if k := p.kinds[name]; k != nil {
		return k, nil, nil
	}
	_, ds := p.libraryKind(name)
	for _, defines := range []map[string]*Define{b.Defines, p.library.defines, p.Root.Defines, p.definesAround(b)} {
		if def := defines[name]; def != nil {
			return def.Schema(), def, ds
		}
	}
	return nil, nil, ds
}

// definesAround returns the kinds of the module in whose directory a defined kind is declared. One
// kind of a module can use another kind through it.
func (p *Program) definesAround(b *Body) map[string]*Define {
	if around := p.modules[b.Directory.Path].body; around != nil && around.Directory == b.Directory {
		return around.Defines
	}
	return nil
}

// HasKind reports whether a name in a body is a kind, without parsing the library.
func (p *Program) HasKind(name string, b *Body) bool {
	return p.kinds[name] != nil || p.InLibrary(name) || p.Root.Defines[name] != nil || b.Defines[name] != nil
}

// KindNames lists every kind that a state may have, sorted: those written in
// Go, the standard library's, and the repository's top-level ones.
func (p *Program) KindNames() []string {
	var out []string
	for n := range p.kinds {
		out = append(out, n)
	}
	for n := range p.library.file {
		out = append(out, n)
	}
	if p.Root != nil {
		for n := range p.Root.Defines {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
