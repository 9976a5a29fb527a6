package repo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// snapshot reads files below a root and records their status.
type snapshot struct {
	ctx   context.Context
	root  *os.Root
	hash  string
	keep  int64
	dirs  map[string]bool // directory: it is real, not a link
	tally tally
	nodes []*node

	readers readers // of the files of nodes

	memory    *Memory // nil has every file read
	now       func() time.Time
	began     time.Time // of the look
	traces    []trace   // of nodes, in their order
	skipped   bool      // a listed name is not a file
	in        string    // the name of directory
	directory *os.Root  // the last one looked into
}

// add reads one name. It skips missing names, and names whose parent is no longer a directory: they
// are deleted files.
func (s *snapshot) add(name string) error {
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	if err := checkEntryPath(name); err != nil {
		return err
	}
	if !s.isDir(path.Dir(name)) {
		s.skipped = true
		return nil
	}
	info, err := s.lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		s.skipped = true
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := s.tally.add(name, info.Size()); err != nil {
			return err
		}
	}
	n, known, err := s.read(name, info)
	if n == nil || err != nil {
		s.skipped = true
		return err
	}
	s.nodes = append(s.nodes, n)
	if s.memory != nil {
		s.traces = append(s.traces, trace{name, known, n})
	}
	return nil
}

// settled reports whether every name is a file with a reliable stamp.
func (s *snapshot) settled() bool {
	for _, t := range s.traces {
		if t.stamp.ctime == 0 {
			return false
		}
	}
	return !s.skipped
}

// lstat reads the status of a name through its directory. It keeps the directory open for the next
// name, because names are grouped by directory. Below the root it leads to the same file as the
// whole path, and openFile verifies the file that is read.
func (s *snapshot) lstat(name string) (fs.FileInfo, error) {
	dir := path.Dir(name)
	if s.directory == nil || s.in != dir {
		directory, err := s.root.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		s.leave()
		s.in, s.directory = dir, directory
	}
	return s.directory.Lstat(path.Base(name))
}

// leave closes the last directory.
func (s *snapshot) leave() {
	if s.directory != nil {
		_ = s.directory.Close()
		s.directory = nil
	}
}

// isDir reports whether every part of dir is a real directory, not a link to one.
func (s *snapshot) isDir(dir string) bool {
	if is, known := s.dirs[dir]; known {
		return is
	}
	is := s.isDir(path.Dir(dir))
	if is {
		info, err := s.root.Lstat(dir)
		is = err == nil && info.IsDir()
	}
	s.dirs[dir] = is
	return is
}

// read makes the node of a name, nil for a directory. known is its stamp, or the zero stamp if it
// changed too recently.
func (s *snapshot) read(name string, info fs.FileInfo) (n *node, known stamp, err error) {
	n = &node{Entry: Entry{Path: name, Size: info.Size()}}
	var st stamp
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st = stampOf(sys)
	}
	switch {
	case info.Mode().IsRegular():
		n.Exec = info.Mode()&0o100 != 0
		known, err = s.file(n, info, st)
		return n, known, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := s.root.Readlink(name)
		if err != nil {
			return nil, stamp{}, err
		}
		n.Type, n.target, n.Size = Symlink, target, int64(len(target))
		id := s.blobHash(n.Size)
		io.WriteString(id, target)
		n.id = hex.EncodeToString(id.Sum(nil))
		if st.settled(s.began) {
			known = st
		}
		return n, known, checkTarget(name, target)
	case info.IsDir():
		return nil, stamp{}, nil // a tracked file became a directory; its content is listed
	}
	return nil, stamp{},
		&pathError{"use", name,
			fmt.Sprintf("it is neither file, directory nor link (%s); name it in .gitignore or remove it", info.Mode()), nil}
}

// file digests a regular file, from memory when it is as it was.
func (s *snapshot) file(n *node, info fs.FileInfo, st stamp) (known stamp, err error) {
	if s.memory == nil {
		return stamp{}, s.digest(n, info)
	}
	if s.memory.recall(n, st) {
		return st, nil
	}
	if began := s.now(); st.settled(began) {
		known = st
	}
	return known, s.digest(n, info)
}

// blobHash is the hash by which git names content of this size.
func (s *snapshot) blobHash(size int64) hash.Hash {
	h := sha1.New()
	if s.hash == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// digest has a file read to its end, for both of its names and to keep it.
func (s *snapshot) digest(n *node, info fs.FileInfo) error {
	f, err := s.openFile(n.Path, info)
	if err != nil {
		return err
	}
	keep := n.Size <= keepFile && n.Size <= s.keep
	if keep {
		s.keep -= n.Size
	}
	return s.readers.read(func() error {
		defer f.Close()
		return s.digestOpen(n, f, keep)
	})
}

func (s *snapshot) digestOpen(n *node, f io.Reader, keep bool) error {
	id, sum := s.blobHash(n.Size), sha256.New()
	var kept *bytes.Buffer
	w := io.MultiWriter(id, sum)
	if keep {
		kept = bytes.NewBuffer(make([]byte, 0, n.Size+1))
		w = io.MultiWriter(id, sum, kept)
	}
	got, err := io.Copy(w, io.LimitReader(f, n.Size+1))
	if err == nil && got != n.Size {
		err = errors.New("its size changed while it was read; run again")
	}
	if err != nil {
		return &pathError{"read", n.Path, err.Error(), err}
	}
	if kept != nil {
		n.data = kept.Bytes()
	}
	n.id = hex.EncodeToString(id.Sum(nil))
	n.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return nil
}

// openFile opens the regular file that lstat found, through its directory if that is still open.
// os.Root follows links that stay below it, so openFile verifies that it is still the same file.
func (s *snapshot) openFile(name string, info fs.FileInfo) (*os.File, error) {
	root, rel := s.root, name
	if s.directory != nil && s.in == path.Dir(name) {
		root, rel = s.directory, path.Base(name)
	}
	f, err := root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, &pathError{"open", name, reason(err), err}
	}
	opened, err := f.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(opened, info)) {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, &pathError{"open", name, reason(err), err}
	}
	return f, nil
}

// reason is an error without the path that its caller names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (s *snapshot) open(n *node) (io.ReadCloser, error) {
	info, err := s.root.Lstat(n.Path)
	if err != nil {
		return nil, &pathError{"open", n.Path, reason(err), err}
	}
	f, err := s.openFile(n.Path, info)
	if err != nil {
		return nil, err
	}
	return verified(n, f, func() { f.Close() }), nil
}

// walk reads all of a plain directory.
func (s *snapshot) walk(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if err := checkEntryPath(name); err != nil {
				return err
			}
			err = s.walk(name)
		} else {
			err = s.add(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
