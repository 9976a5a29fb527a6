package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"

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
