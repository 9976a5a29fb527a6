package repo

import (
	"io"
	"path"
	"strings"
)

// Sub returns the directory dir of a tree as a separate tree. No path can leave it, even if the
// destination is inside t. If the directory does not exist, all uses of the result return that
// error.
func Sub(t Tree, dir string) Tree {
	c, err := cleanPath("use directory", dir)
	if err != nil {
		return brokenTree{err}
	}
	if c == "." {
		return t
	}
	return &subTree{t, c}
}

type subTree struct {
	tree Tree
	dir  string
}

func (s *subTree) full(verb, p string) (string, error) {
	c, err := cleanPath(verb, p)
	return path.Join(s.dir, c), err
}

func (s *subTree) local(e Entry) Entry {
	e.Path = strings.TrimPrefix(strings.TrimPrefix(e.Path, s.dir), "/")
	if e.Path == "" {
		e.Path = "."
	}
	return e
}

func (s *subTree) ReadFile(p string) ([]byte, error) {
	p, err := s.full("read", p)
	if err != nil {
		return nil, err
	}
	return s.tree.ReadFile(p)
}

func (s *subTree) Open(p string) (io.ReadCloser, error) {
	p, err := s.full("open", p)
	if err != nil {
		return nil, err
	}
	return s.tree.Open(p)
}

func (s *subTree) Stat(p string) (Entry, error) {
	p, err := s.full("find", p)
	if err != nil {
		return Entry{}, err
	}
	e, err := s.tree.Stat(p)
	return s.local(e), err
}

func (s *subTree) ReadDir(p string) ([]Entry, error) {
	p, err := s.full("list", p)
	if err != nil {
		return nil, err
	}
	list, err := s.tree.ReadDir(p)
	for i := range list {
		list[i] = s.local(list[i])
	}
	return list, err
}

func (s *subTree) Readlink(p string) (string, error) {
	p, err := s.full("read link", p)
	if err != nil {
		return "", err
	}
	return s.tree.Readlink(p)
}

func (s *subTree) Digest(p string) (string, int64, error) {
	p, err := s.full("digest", p)
	if err != nil {
		return "", 0, err
	}
	return s.tree.Digest(p)
}

// brokenTree represents an error as a Tree. All its methods return the error.
type brokenTree struct{ err error }

func (b brokenTree) ReadFile(string) ([]byte, error)      { return nil, b.err }
func (b brokenTree) Open(string) (io.ReadCloser, error)   { return nil, b.err }
func (b brokenTree) Stat(string) (Entry, error)           { return Entry{}, b.err }
func (b brokenTree) ReadDir(string) ([]Entry, error)      { return nil, b.err }
func (b brokenTree) Readlink(string) (string, error)      { return "", b.err }
func (b brokenTree) Digest(string) (string, int64, error) { return "", 0, b.err }
