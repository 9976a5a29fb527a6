package repo

import (
	"io"
	"sync"
	"sync/atomic"
)

// lazyTree is a remembered tree. Nothing of it is made before it is used, and
// for finding one file not even then.
type lazyTree struct {
	look *look
	read func(*node) (io.ReadCloser, error)

	once  sync.Once
	tree  Tree
	opens atomic.Int32
}

// few files are opened one by one; from then on an index pays.
const few = 256

var _ Tree = (*lazyTree)(nil)

func (l *lazyTree) whole() Tree {
	l.once.Do(func() {
		nodes, err := l.look.nodes()
		if err == nil {
			var t *files
			if t, err = newFiles(nodes, l.read); err == nil {
				l.tree = t
				return
			}
		}
		l.tree = brokenTree{err}
	})
	return l.tree
}

func (l *lazyTree) Stat(p string) (Entry, error) {
	if c, err := cleanPath("find", p); err == nil {
		if n := l.look.find(c); n != nil {
			return n.Entry, nil
		}
	}
	return l.whole().Stat(p)
}

func (l *lazyTree) Open(p string) (io.ReadCloser, error) {
	if c, err := cleanPath("open", p); err == nil && l.opens.Add(1) <= few {
		if n := l.look.find(c); n != nil && n.Type == File {
			return l.read(n)
		}
	}
	return l.whole().Open(p)
}

func (l *lazyTree) ReadFile(p string) ([]byte, error)      { return l.whole().ReadFile(p) }
func (l *lazyTree) ReadDir(p string) ([]Entry, error)      { return l.whole().ReadDir(p) }
func (l *lazyTree) Readlink(p string) (string, error)      { return l.whole().Readlink(p) }
func (l *lazyTree) Digest(p string) (string, int64, error) { return l.whole().Digest(p) }
