package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/repo"
)

// FSTree makes a tree of an fs.FS: the kinds that are built in, and tests.
// It does not follow symbolic links, and digests by reading.
func FSTree(fsys fs.FS) repo.Tree { return fsTree{fsys} }

type fsTree struct{ fsys fs.FS }

func (t fsTree) clean(p string) (string, error) {
	p = path.Clean(p)
	if !fs.ValidPath(p) {
		return "", fmt.Errorf("cannot open %q: the path leaves the repository; use a path inside the repository", p)
	}
	return p, nil
}

func (t fsTree) ReadFile(p string) ([]byte, error) {
	f, err := t.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (t fsTree) Open(p string) (io.ReadCloser, error) {
	e, err := t.Stat(p)
	if err != nil {
		return nil, err
	}
	if e.Type != repo.File {
		return nil, fmt.Errorf("cannot read %q: it is not a regular file", p)
	}
	return t.fsys.Open(e.Path)
}

func (t fsTree) Stat(p string) (repo.Entry, error) {
	p, err := t.clean(p)
	if err != nil {
		return repo.Entry{}, err
	}
	info, err := fs.Lstat(t.fsys, p)
	if err != nil {
		return repo.Entry{}, err
	}
	return entryOf(p, info), nil
}

func entryOf(p string, info fs.FileInfo) repo.Entry {
	e := repo.Entry{Path: p}
	switch {
	case info.IsDir():
		e.Type = repo.Dir
	case info.Mode()&fs.ModeSymlink != 0:
		e.Type = repo.Symlink
	default:
		e.Exec, e.Size = info.Mode()&0o100 != 0, info.Size()
	}
	return e
}

func (t fsTree) ReadDir(p string) ([]repo.Entry, error) {
	p, err := t.clean(p)
	if err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(t.fsys, p)
	if err != nil {
		return nil, err
	}
	var out []repo.Entry
	for _, d := range list {
		e, err := t.Stat(path.Join(p, d.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (t fsTree) Readlink(p string) (string, error) {
	p, err := t.clean(p)
	if err != nil {
		return "", err
	}
	return fs.ReadLink(t.fsys, p)
}

func (t fsTree) Digest(p string) (string, int64, error) {
	f, err := t.Open(p)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, err
}

// directory is the directory of a module in a tree. Paths are relative to it and do not leave it.
type directory struct {
	tree repo.Tree
	dir  string // "." for the top
	prog *Program
	// builtin marks the directory of the standard library. Its files are not part of the
	// repository.
	builtin bool
	// unseen marks reads that are not an input of a module: see read.
	unseen  bool
	lookups map[string]*lookup // lookups that the module declares
}

// within joins a module path to the directory, and refuses a path that leaves the directory.
func (f *directory) within(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("cannot open a file without a name: write a path relative to the module's directory")
	case strings.ContainsRune(p, 0):
		return "", fmt.Errorf("cannot open %q: the name contains a NUL byte", p)
	case path.IsAbs(p):
		return "", fmt.Errorf("cannot open %q: paths are relative to the module's directory, %s", p, f.name())
	}
	c := path.Clean(p)
	if c == ".." || strings.HasPrefix(c, "../") {
		return "", fmt.Errorf("cannot open %q: the path leaves the module's directory, %s", p, f.name())
	}
	full := path.Join(f.dir, c)
	f.note(full)
	return full, nil
}

// use records that a file of the repository took part.
func (f *directory) use(full string) {
	if !f.builtin {
		f.prog.used[full] = true
	}
}

// name returns the directory for messages.
func (f *directory) name() string {
	if f.dir == "." {
		return "the top of the repository"
	}
	return f.dir
}

func (f *directory) ReadFile(p string) ([]byte, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	f.use(full)
	return f.tree.ReadFile(full)
}

func (f *directory) Open(p string) (io.ReadCloser, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	return f.tree.Open(full)
}

func (f *directory) Stat(p string) (repo.Entry, error) {
	full, err := f.within(p)
	if err != nil {
		return repo.Entry{}, err
	}
	e, err := f.tree.Stat(full)
	e.Path = f.relative(e.Path)
	return e, err
}

func (f *directory) ReadDir(p string) ([]repo.Entry, error) {
	full, err := f.within(p)
	if err != nil {
		return nil, err
	}
	list, err := f.tree.ReadDir(full)
	if err != nil {
		return nil, err
	}
	out := make([]repo.Entry, len(list))
	for i, e := range list {
		e.Path = f.relative(e.Path)
		out[i] = e
	}
	return out, nil
}

func (f *directory) relative(p string) string {
	if f.dir == "." {
		return p
	}
	return strings.TrimPrefix(strings.TrimPrefix(p, f.dir), "/")
}

func (f *directory) Readlink(p string) (string, error) {
	full, err := f.within(p)
	if err != nil {
		return "", err
	}
	return f.tree.Readlink(full)
}

func (f *directory) Digest(p string) (string, int64, error) {
	full, err := f.within(p)
	if err != nil {
		return "", 0, err
	}
	f.use(full)
	return f.tree.Digest(full)
}

// Source returns the repository path of a module path.
func (f *directory) Source(p string) string { return path.Join(f.dir, p) }

// Whole returns the repository's own tree and path for a module path. Readers that run long after
// compilation do not go through the module.
func (f *directory) Whole(p string) (repo.Tree, string) {
	full, err := f.within(p)
	if err != nil {
		return f, p
	}
	return f.tree, full
}
