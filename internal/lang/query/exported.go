package query

import (
	"path"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// TypeOfExported returns the type of the input's values. ok is false after a diagnostic. If the
// module is missing in this part of the repository, the recorded values give the type.
func TypeOfExported(p *source.Program, r *syntax.Reports, e *source.Exported) (cty.Type, bool) {
	if dir, err := p.Tree.Stat(e.Module); err != nil || dir.Type != repo.Dir {
		if t := p.GivenTables().Table(e); t != nil {
			typ, err := exported.TypeOf(t.Type)
			if err == nil {
				return typ, true
			}
		}
		r.Errorf(e.Range, "Unknown module",
			"The repository has no directory %s, "+
				"so no target exports its output %q.%s", e.Module, e.Output, syntax.Suggest(path.Base(e.Module), moduleNames(p)))
		return cty.NilType, false
	}
	defer p.Aside()()
	b, _ := p.Module(e.Module)
	switch o := b.Outputs[e.Output]; {
	case o == nil:
		r.Errorf(e.Range, "Unknown output", "The module in %s has no output %q.%s", e.Module, e.Output,
			syntax.Suggest(e.Output, syntax.Names(b.Outputs)))
	case !o.Exported:
		r.Errorf(e.Range, "Output is not exported",
			"The output %q of %s (at %s) is not exported. Write into that output block: exported = true.", e.Output, e.Module,
			o.Range)
	default:
		return o.Type, true
	}
	return cty.NilType, false
}

func moduleNames(p *source.Program) []string {
	var names []string
	list, _ := p.Tree.ReadDir("modules")
	for _, e := range list {
		if e.Type == repo.Dir {
			names = append(names, path.Base(e.Path))
		}
	}
	return names
}

// ExportedOf returns the exported inputs of a module, sorted by name. Errors in them are reported.
func ExportedOf(p *source.Program, r *syntax.Reports, dir string) []source.Exported {
	var out []source.Exported
	b, _ := p.Module(dir)
	for _, name := range syntax.SortedNames(b.Exported) {
		e := *b.Exported[name]
		if typ, ok := TypeOfExported(p, r, &e); ok && typ != cty.NilType && !typ.HasDynamicTypes() {
			e.Type = exported.TypeText(typ)
		}
		out = append(out, e)
	}
	return out
}
