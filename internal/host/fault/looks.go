package fault

import (
	"fmt"
	"sync"
	"syscall"

	"fettle.dev/fettle/internal/host"
)

// ErrLook is the error of a look that was planned to fail, one of the disk.
var ErrLook = fmt.Errorf("planned failure of a look: %w", syscall.EIO)

// Looks is a file system in which one read fails: of a name, or of an open file. Operations that
// change data succeed; Plan breaks those operations. It is safe for concurrent use, but At must not
// be set during a read.
type Looks struct {
	host.FS
	// At is which look fails, counted from 1; none does at 0.
	At int

	mu   sync.Mutex
	seen int
	hit  string
}

// Seen is the number of looks so far.
func (l *Looks) Seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// Hit returns the read that failed, "" if none failed.
func (l *Looks) Hit() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hit
}

// Look counts a read and returns an error for the read that must fail.
func (l *Looks) Look(what, path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen++; l.seen != l.At {
		return nil
	}
	l.hit = what + " " + path
	return fmt.Errorf("%w: %s", ErrLook, l.hit)
}

// Lstat implements host.Reader.
func (l *Looks) Lstat(path string) (host.Stat, error) {
	if err := l.Look("lstat", path); err != nil {
		return host.Stat{}, err
	}
	return l.FS.Lstat(path)
}

// ReadDir implements host.Reader.
func (l *Looks) ReadDir(path string) ([]string, error) {
	if err := l.Look("readdir", path); err != nil {
		return nil, err
	}
	return l.FS.ReadDir(path)
}

// Readlink implements host.Reader.
func (l *Looks) Readlink(path string) (string, error) {
	if err := l.Look("readlink", path); err != nil {
		return "", err
	}
	return l.FS.Readlink(path)
}

// Xattrs implements host.Reader.
func (l *Looks) Xattrs(path string) (map[string][]byte, error) {
	if err := l.Look("xattrs", path); err != nil {
		return nil, err
	}
	return l.FS.Xattrs(path)
}

// Attrs implements host.Reader.
func (l *Looks) Attrs(path string) (uint32, error) {
	if err := l.Look("attrs", path); err != nil {
		return 0, err
	}
	return l.FS.Attrs(path)
}

// SameMount implements host.Reader.
func (l *Looks) SameMount(path string) (bool, error) {
	if err := l.Look("mount of", path); err != nil {
		return false, err
	}
	return l.FS.SameMount(path)
}

// Open implements host.Reader.
func (l *Looks) Open(path string) (host.File, error) { return l.file("open", path, l.FS.Open) }

// OpenWrite implements host.Writer.
func (l *Looks) OpenWrite(path string) (host.File, error) {
	return l.file("open to write", path, l.FS.OpenWrite)
}

// OpenNode implements host.Writer.
func (l *Looks) OpenNode(path string) (host.Node, error) {
	if err := l.Look("open the inode", path); err != nil {
		return nil, err
	}
	return l.FS.OpenNode(path)
}

func (l *Looks) file(what, path string, open func(string) (host.File, error)) (host.File, error) {
	if err := l.Look(what, path); err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	return &lookedAt{f, l, path}, nil
}

// lookedAt is an open file of a Looks.
type lookedAt struct {
	host.File
	l    *Looks
	path string
}

func (f *lookedAt) Read(b []byte) (int, error) {
	if err := f.l.Look("read", f.path); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *lookedAt) ReadAt(b []byte, off int64) (int, error) {
	if err := f.l.Look("read", f.path); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f *lookedAt) Stat() (host.Stat, error) {
	if err := f.l.Look("stat", f.path); err != nil {
		return host.Stat{}, err
	}
	return f.File.Stat()
}

func (f *lookedAt) Seek(off int64, whence int) (int64, error) {
	if err := f.l.Look("seek in", f.path); err != nil {
		return 0, err
	}
	return f.File.Seek(off, whence)
}

func (f *lookedAt) NextData(off int64) (int64, int64, error) {
	if err := f.l.Look("look for holes in", f.path); err != nil {
		return 0, 0, err
	}
	return f.File.NextData(off)
}
