package source

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/lang/syntax"
)

func newRecord() record {
	return record{used: map[string]bool{}, paths: map[string]map[string]bool{}, onlyLevels: map[string]bool{}}
}

// Begin starts the next target, in which some files always take part.
func (r *record) Begin(files []string) {
	r.used = make(map[string]bool, len(files))
	for _, f := range files {
		r.used[f] = true
	}
}

// Use adds files to the current target.
func (r *record) Use(files []string) {
	for _, f := range files {
		r.used[f] = true
	}
}

// Files returns the files of the current target, sorted.
func (r *record) Files() []string { return syntax.SortedNames(r.used) }

// Aside begins reads that are not part of a target. The returned function ends them.
func (p *Program) Aside() (end func()) {
	used := p.Record.used
	p.Record.used = map[string]bool{}
	return func() { p.Record.used = used }
}

// note records a requested path.
func (f *Directory) note(full string) {
	if f.builtin || f.Unseen {
		return
	}
	of := f.prog.Record.paths[f.Path]
	if of == nil {
		of = map[string]bool{}
		f.prog.Record.paths[f.Path] = of
	}
	if !of[full] {
		of[full] = true
		f.prog.Record.Order = append(f.prog.Record.Order, read{Directory: f.Path, Path: full})
	}
}

// forget removes the reads of the files of the top level.
func (r *record) forget(top string) {
	own := syntax.NameSet(r.onlyLevels)
	own[top] = true
	kept := r.Order[:0]
	for _, x := range r.Order {
		if x.Directory == top && own[x.Path] {
			delete(r.paths[x.Directory], x.Path)
			continue
		}
		kept = append(kept, x)
	}
	r.Order = kept
}

// HasOnlyLevels reports whether a file of the top level is missing, or declares only levels.
func (p *Program) HasOnlyLevels(file string) bool {
	return p.Record.onlyLevels[file] || !slices.Contains(p.Root.Files, file)
}

// onlyLevels reports whether a file of the top level declares only levels: targets, roles, groups,
// and settings of all targets. No list depends on a rollout, window or scope block. A list with an unknown barrier or
// signal is an error, so it depends on their blocks.
func onlyLevels(b *hclsyntax.Body) bool {
	for _, block := range b.Blocks {
		switch block.Type {
		case "target", "role", "target_group", "enrolled", "policy", "ssh", "rollout", "window",
			"scope_kind", "scope", "cluster", "environment", "universe":
		default:
			return false
		}
	}
	return true
}
