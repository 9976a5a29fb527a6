package lang

import (
	"errors"
	"io/fs"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/repo"
)

// read is a path that a directory requested from the tree. The result of a module depends on the
// tree only through its reads. Reads do not include data files and the configuration files of the
// top level: their content is compared as declarations and as values.
type read struct{ dir, path string }

// note records a requested path.
func (f *directory) note(full string) {
	if f.builtin || f.unseen {
		return
	}
	of := f.prog.reads[f.dir]
	if of == nil {
		of = map[string]bool{}
		f.prog.reads[f.dir] = of
	}
	if !of[full] {
		of[full] = true
		f.prog.readOrder = append(f.prog.readOrder, read{f.dir, full})
	}
}

// forget removes the reads of the files of a body.
func (p *Program) forget(b *body) {
	own := boolSet(p.onlyLevels)
	own[b.directory.dir] = true
	kept := p.readOrder[:0]
	for _, r := range p.readOrder {
		if r.dir == b.directory.dir && own[r.path] {
			delete(p.reads[r.dir], r.path)
			continue
		}
		kept = append(kept, r)
	}
	p.readOrder = kept
}

// onlyLevels reports whether a file of the top level declares only levels: targets, roles, groups,
// and settings of all targets.
func onlyLevels(b *hclsyntax.Body) bool {
	for _, block := range b.Blocks {
		switch block.Type {
		case "target", "role", "target_group", "enrolled", "policy", "ssh":
		default:
			return false
		}
	}
	return true
}

// samePath reports whether two trees have the same content at a path.
func samePath(a, b repo.Tree, p string) bool {
	x, xerr := a.Stat(p)
	y, yerr := b.Stat(p)
	switch {
	case xerr != nil || yerr != nil:
		return errors.Is(xerr, fs.ErrNotExist) && errors.Is(yerr, fs.ErrNotExist)
	case x.Type != y.Type || x.Exec != y.Exec || x.Path != y.Path:
		return false
	case x.Type == repo.File:
		d, _, derr := a.Digest(p)
		e, _, eerr := b.Digest(p)
		return derr == nil && eerr == nil && d == e
	case x.Type == repo.Symlink:
		d, derr := a.Readlink(p)
		e, eerr := b.Readlink(p)
		return derr == nil && eerr == nil && d == e
	}
	return sameDirectory(a, b, p)
}

// sameDirectory compares the entries of a directory by name, type and size. The content of each entry
// is a separate read.
func sameDirectory(a, b repo.Tree, p string) bool {
	x, xerr := a.ReadDir(p)
	y, yerr := b.ReadDir(p)
	if xerr != nil || yerr != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}
