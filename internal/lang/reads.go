package lang

import (
	"errors"
	"io/fs"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/repo"
)

// read is a path that a folder asked the tree for. What a module comes to hangs on
// the tree by its reads alone. Not among them are the files of the top level that
// are configuration, and data files: what those give is compared as what they
// declare and as values.
type read struct{ dir, path string }

// note keeps what is asked of the tree.
func (f *folder) note(full string) {
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

// forget takes the reads of the files of a body back.
func (p *Program) forget(b *body) {
	own := boolSet(p.onlyLevels)
	own[b.folder.dir] = true
	kept := p.readOrder[:0]
	for _, r := range p.readOrder {
		if r.dir == b.folder.dir && own[r.path] {
			delete(p.reads[r.dir], r.path)
			continue
		}
		kept = append(kept, r)
	}
	p.readOrder = kept
}

// onlyLevels tells whether a file of the top level declares nothing but levels:
// targets, roles, groups, and what is so for all targets.
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

// samePath tells whether two trees give the same for a path.
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
	return sameFolder(a, b, p)
}

// sameFolder compares what is in a folder by name, type and size: what is in
// that is a read of its own.
func sameFolder(a, b repo.Tree, p string) bool {
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
