package repo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxReadFile is the maximum size of a file for ReadFile, in bytes.
const maxReadFile = 32 << 20

// node is one entry, with the data that its tree has of it. It is read-only after its tree is
// returned.
type node struct {
	Entry
	id     string   // the git blob; "" outside of git
	digest string   // sha256:hex of the content, files only
	target string   // links only
	data   []byte   // the content where it was kept; nil where it must be read
	names  []string // of a directory, sorted
}

// files is the one Tree of this package: an index of everything that there
// is, and a way to read the content that was not kept.
type files struct {
	nodes map[string]*node
	read  func(*node) (io.ReadCloser, error)
}

var _ Tree = (*files)(nil)

// newFiles makes the index of files and links. Directories follow from their paths. The names must
// have been checked. newFiles refuses duplicate paths, and a path that is both a file and a
// directory.
func newFiles(list []*node, read func(*node) (io.ReadCloser, error)) (*files, error) {
	t := &files{nodes: make(map[string]*node, len(list)+len(list)/4+1), read: read}
	t.nodes["."] = &node{Entry: Entry{Path: ".", Type: Dir}}
	for _, n := range list {
		if t.nodes[n.Path] != nil {
			return nil, &pathError{"use repository entry", n.Path, "the path is in the tree twice", nil}
		}
		t.nodes[n.Path] = n
		if err := t.addTo(n.Path); err != nil {
			return nil, err
		}
	}
	for _, n := range t.nodes {
		slices.Sort(n.names)
	}
	return t, nil
}

// addTo adds p to its directory, and creates the directory if it is new.
func (t *files) addTo(p string) error {
	dir, name := path.Dir(p), path.Base(p)
	d := t.nodes[dir]
	if d == nil {
		d = &node{Entry: Entry{Path: dir, Type: Dir}}
		t.nodes[dir] = d
		if err := t.addTo(dir); err != nil {
			return err
		}
	}
	if d.Type != Dir {
		return &pathError{"use repository entry", p, fmt.Sprintf("%q is also a file in the tree", dir), nil}
	}
	d.names = append(d.names, name)
	return nil
}

func (t *files) find(verb, p string) (*node, error) {
	c, err := cleanPath(verb, p)
	if err != nil {
		return nil, err
	}
	if n := t.nodes[c]; n != nil {
		return n, nil
	}
	return nil, &pathError{verb, p, t.missing(c), fs.ErrNotExist}
}

// missing explains why p does not exist, with the nearest name of its directory.
func (t *files) missing(p string) string {
	dir := path.Dir(p)
	d := t.nodes[dir]
	if d == nil {
		return fmt.Sprintf("there is no such file in the repository, nor its directory %q", dir)
	}
	if d.Type != Dir {
		return fmt.Sprintf("%q is not a directory", dir)
	}
	why := "there is no such file in the repository"
	if near := nearest(path.Base(p), d.names, 1); len(near) > 0 {
		why += fmt.Sprintf(". Did you mean %q?", path.Join(dir, near[0]))
	}
	return why
}

// file is like find, for a path that must be a regular file.
func (t *files) file(verb, p string) (*node, error) {
	n, err := t.find(verb, p)
	switch {
	case err != nil:
		return nil, err
	case n.Type == Dir:
		return nil, &pathError{verb, p, "it is a directory", fs.ErrInvalid}
	case n.Type == Symlink:
		return nil, &pathError{verb, p, fmt.Sprintf("it is a symbolic link to %q; links are not followed", n.target),
			fs.ErrInvalid}
	}
	return n, nil
}

func (t *files) Open(p string) (io.ReadCloser, error) {
	n, err := t.file("open", p)
	if err != nil {
		return nil, err
	}
	if n.data != nil {
		return io.NopCloser(bytes.NewReader(n.data)), nil
	}
	return t.read(n)
}

func (t *files) ReadFile(p string) ([]byte, error) {
	n, err := t.file("read", p)
	if err != nil {
		return nil, err
	}
	if n.data != nil {
		return bytes.Clone(n.data), nil
	}
	if n.Size > maxReadFile {
		return nil, &pathError{"read", p,
			fmt.Sprintf("it has %d bytes; files above %d MiB are only copied, never read as text", n.Size, maxReadFile>>20), nil}
	}
	r, err := t.read(n)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, 0, n.Size+1)
	buf := bytes.NewBuffer(data)
	if _, err := buf.ReadFrom(io.LimitReader(r, maxReadFile+1)); err != nil {
		return nil, &pathError{"read", p, err.Error(), err}
	}
	return buf.Bytes(), nil
}

func (t *files) Stat(p string) (Entry, error) {
	n, err := t.find("find", p)
	if err != nil {
		return Entry{}, err
	}
	return n.Entry, nil
}

func (t *files) ReadDir(p string) ([]Entry, error) {
	n, err := t.find("list", p)
	if err != nil {
		return nil, err
	}
	if n.Type != Dir {
		return nil, &pathError{"list", p, "it is not a directory", fs.ErrInvalid}
	}
	out := make([]Entry, 0, len(n.names))
	for _, name := range n.names {
		out = append(out, t.nodes[path.Join(n.Path, name)].Entry)
	}
	return out, nil
}

func (t *files) Readlink(p string) (string, error) {
	n, err := t.find("read link", p)
	if err != nil {
		return "", err
	}
	if n.Type != Symlink {
		return "", &pathError{"read link", p, "it is not a symbolic link", fs.ErrInvalid}
	}
	return n.target, nil
}

func (t *files) Digest(p string) (string, int64, error) {
	n, err := t.file("digest", p)
	if err != nil {
		return "", 0, err
	}
	return n.digest, n.Size, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Walk calls fn for every file and link below dir, "." for all, sorted by
// path. It stops at the first error and returns it.
func Walk(t Tree, dir string, fn func(Entry) error) error {
	var all []Entry
	if err := collect(t, dir, &all); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for _, e := range all {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func collect(t Tree, dir string, all *[]Entry) error {
	entries, err := t.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type == Dir {
			err = collect(t, e.Path, all)
		} else {
			*all = append(*all, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TreeDigest returns the digest of the content of a tree, "sha256:hex": every file and link, sorted
// by path, with its type, executable bit and content. Equal trees have equal digests, whether they
// belong to a commit, a work tree or a subtree.
func TreeDigest(t Tree) (string, error) {
	h := sha256.New()
	io.WriteString(h, "fettle tree 1\n")
	err := Walk(t, ".", func(e Entry) error {
		content, kind := "", "file"
		var err error
		switch {
		case e.Type == Symlink:
			kind = "link"
			content, err = t.Readlink(e.Path)
			content = digestOf([]byte(content))
		case e.Exec:
			kind = "exec"
			fallthrough
		default:
			content, _, err = t.Digest(e.Path)
		}
		fmt.Fprintf(h, "%s %s %s\x00", kind, content, e.Path)
		return err
	})
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
