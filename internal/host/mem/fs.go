package mem

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Options are the settings of a Host or FS. The zero value is usable.
type Options struct {
	// Count is called before each mutating operation; see host.OperationHook.
	Count host.OperationHook
	// Now returns the time of the next change in ns since 1970. By default it is a counter that
	// starts in 2023 and advances by a millisecond.
	Now func() int64
	// Run simulates the programs of the host; by default there are none.
	Run Runner
	// CannotIsolate is the reason if the host cannot run isolated programs; nil means that it can.
	CannotIsolate error
}

// FS is a file system in memory. It is safe for concurrent use. Its caller is root, so permissions
// are not checked.
type FS struct {
	*disk
	count host.OperationHook
}

// disk is the data that all views of one file system share.
type disk struct {
	mu   sync.Mutex
	now  func() int64
	root *inode
	next uint64
	log  []*entryOp // changes of entries that no sync made durable, in order
}

var _ host.FS = (*FS)(nil)

// NewFS makes an empty file system: a root directory of mode 0755.
func NewFS(opts Options) *FS {
	d := &disk{now: opts.Now}
	if d.now == nil {
		d.now = counterClock()
	}
	d.root = d.newInode(image.Directory, 0o755)
	d.root.parent = d.root
	return &FS{disk: d, count: opts.Count}
}

func counterClock() func() int64 {
	var now atomic.Int64
	now.Store(1_700_000_000_000_000_000)
	return func() int64 { return now.Add(1_000_000) }
}

// Counted returns another view of the same file system, which reports its operations to count.
func (f *FS) Counted(count host.OperationHook) *FS { return &FS{disk: f.disk, count: count} }

// op reports a mutating operation, outside the lock, because a counter can read the file system.
func (f *FS) op(name, path string) error {
	if f.count == nil {
		return nil
	}
	return f.count(name, path)
}

// meta are the settable properties of an inode except its content.
type meta struct {
	mode, uid, gid, attrs uint32
	atime, mtime, ctime   int64
	xattrs                map[string][]byte // never changed in place
}

// inode is one file, link, directory or node.
type inode struct {
	meta
	num    uint64
	typ    image.FileType
	target string
	rdev   uint64
	nlink  uint64
	mount  bool // something is mounted here

	entries map[string]*inode // of a directory
	parent  *inode            // of a directory
	durable map[string]*inode // the entries that a power cut leaves for sure

	content
	stable meta // the metadata that a power cut leaves for sure
}

func (d *disk) newInode(typ image.FileType, mode uint32) *inode {
	d.next++
	at := d.now()
	n := &inode{num: d.next, typ: typ, nlink: 1, meta: meta{mode: mode & 0o7777, atime: at, mtime: at, ctime: at}}
	if typ == image.Directory {
		n.entries, n.durable = map[string]*inode{}, map[string]*inode{}
	}
	n.stable = n.meta
	return n
}

func (n *inode) stat() host.Stat {
	st := host.Stat{
		Type: n.typ, Mode: n.mode, UID: n.uid, GID: n.gid, MTime: n.mtime, CTime: n.ctime, ATime: n.atime,
		Ino: n.num, Dev: 1, Nlink: n.nlink, Rdev: n.rdev,
	}
	switch n.typ {
	case image.Regular:
		st.Size = int64(len(n.data))
	case image.Symlink:
		st.Size = int64(len(n.target))
	case image.Directory:
		st.Nlink = 2
		for _, child := range n.entries {
			if child.typ == image.Directory {
				st.Nlink++
			}
		}
	}
	return st
}

// spot is a name in a directory.
type spot struct {
	dir  *inode
	name string
}

func (s spot) get() *inode {
	if s.name == "." {
		return s.dir
	}
	return s.dir.entries[s.name]
}

const maxLinks = 40

// find resolves a path by the rules of package host.
func (d *disk) find(path string) (spot, error) {
	if err := host.CheckPath(path); err != nil {
		return spot{}, err
	}
	parent, base := host.SplitPath(path)
	dir, err := d.walk(parent)
	if err == nil && len(base) > 255 {
		err = errNameTooLong
	}
	return spot{dir, base}, err
}

func (d *disk) walk(path string) (*inode, error) {
	at, links := d.root, 0
	todo := strings.Split(path, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			at = at.parent
			continue
		}
		next := at.entries[name]
		switch {
		case next == nil:
			return nil, errNoEntry
		case next.typ == image.Directory:
			at = next
		case next.typ != image.Symlink:
			return nil, errNotDir
		case next.uid != 0 || at.uid != 0:
			return nil, fmt.Errorf("%w: %q", host.ErrUnsafePath, d.pathOf(at)+name)
		default:
			if links++; links > maxLinks {
				return nil, fmt.Errorf("%w (%w)", errLoop, fs.ErrNotExist)
			}
			if strings.HasPrefix(next.target, "/") {
				at = d.root
			}
			todo = append(strings.Split(next.target, "/"), todo...)
		}
	}
	return at, nil
}

// pathOf is a directory's path with a slash at its end.
func (d *disk) pathOf(dir *inode) string {
	if dir == d.root {
		return "/"
	}
	for name, child := range dir.parent.entries {
		if child == dir {
			return d.pathOf(dir.parent) + name + "/"
		}
	}
	return "(removed)/"
}
