package source

import (
	"fmt"
	"io"
	"path"
	"strings"

	"fettle.dev/fettle/internal/repo"
)

// within joins a module path to the directory, and refuses a path that leaves the directory.
func (f *Directory) within(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("cannot open a file without a name: write a path relative to the module's directory")
	case strings.ContainsRune(p, 0):
		return "", fmt.Errorf("cannot open %q: the name contains a NUL byte", p)
	case path.IsAbs(p):
		return "", fmt.Errorf("cannot open %q: paths are relative to the module's directory, %s", p, f.Name())
	}
	c := path.Clean(p)
	if c == ".." || strings.HasPrefix(c, "../") {
		return "", fmt.Errorf("cannot open %q: the path leaves the module's directory, %s", p, f.Name())
	}
	if f.isVisible() && (c == "modules" || strings.HasPrefix(c, "modules/")) {
		return "", fmt.Errorf("cannot open %q: a scope cannot read files of modules, because only targets with the module "+
			"have them; move the file out of modules/", p)
	}
	full := path.Join(f.Path, c)
	f.note(full)
	return full, nil
}

// Use records that a file of the repository took part.
func (f *Directory) Use(full string) {
	if !f.builtin && !f.isVisible() {
		f.prog.Record.used[full] = true
	}
}

// Name returns the directory for messages.
func (f *Directory) Name() string {
	if f.Path == "." {
		return "the top of the repository"
	}
	return f.Path
}

// ReadFile returns the content of a file, and records that the file took part.
func (f *Directory) ReadFile(p string) ([]byte, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	f.Use(full)
	return f.tree.ReadFile(full)
}

// Open opens a file. The caller closes it.
func (f *Directory) Open(p string) (io.ReadCloser, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	return f.tree.Open(full)
}

// Stat describes a file or a directory.
func (f *Directory) Stat(p string) (repo.Entry, error) {
	full, err := f.within(p)
	if err != nil {
		return repo.Entry{}, err
	}
	e, err := f.tree.Stat(full)
	e.Path = f.relative(e.Path)
	return e, err
}

// ReadDir lists a directory.
func (f *Directory) ReadDir(p string) ([]repo.Entry, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	list, err := f.tree.ReadDir(full)
	if err != nil {
		return nil, err
	}
	out := make([]repo.Entry, 0, len(list))
	for _, e := range list {
		e.Path = f.relative(e.Path)
		if !f.isVisible() || e.Path != "modules" {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *Directory) relative(p string) string {
	if f.Path == "." {
		return p
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, f.Path), "/")
}

// Readlink returns the target of a symbolic link.
func (f *Directory) Readlink(p string) (string, error) {
	full, err := f.within(p)
	if err != nil {
		return "", err
	}
	return f.tree.Readlink(full)
}

// Digest returns the digest and the size of a file, and records that the file took part.
func (f *Directory) Digest(p string) (string, int64, error) {
	full, err := f.within(p)
	if err != nil {
		return "", 0, err
	}
	f.Use(full)
	return f.tree.Digest(full)
}

// Source returns the repository path of a module path.
func (f *Directory) Source(p string) string { return path.Join(f.Path, p) }

// Whole returns the repository's own tree and path for a module path. Readers that run long after
// compilation do not go through the module.
func (f *Directory) Whole(p string) (repo.Tree, string) {
	full, err := f.within(p)
	if err != nil {
		return f, p
	}
	return f.tree, full
}

// asVisible returns a view for values that hubs and all targets read. It has no secrets and no files of
// modules, and its reads are not an input of a list.
func (f *Directory) asVisible() *Directory {
	if f.visible == nil {
		v := &Directory{tree: f.tree, Path: f.Path, prog: f.prog, builtin: f.builtin, Unseen: true}
		v.visible, f.visible = v, v
	}
	return f.visible
}

func (f *Directory) isVisible() bool { return f.visible == f }

func (p *Program) newDirectory(tree repo.Tree, dir string) *Directory {
	return &Directory{tree: tree, Path: dir, prog: p, Lookups: map[string]*CachedLookup{}}
}
