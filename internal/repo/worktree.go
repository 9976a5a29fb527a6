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
	"strings"
)

// WorkTree reads the files as they are: the tracked ones that are there and
// the untracked ones that are not ignored; in a plain folder, all. When that is
// byte for byte the commit that is checked out, the revision is that commit's
// and not Dirty. Filters (autocrlf, LFS) are never run, so a file that one
// would change counts as changed.
//
// The content is what it was at this call: a file that changes later is an
// error when it is read, never a mixture.
func (r *Repo) WorkTree(ctx context.Context) (Tree, Revision, error) {
	if r.bare {
		return nil, Revision{}, fmt.Errorf("cannot read work tree: %q is a bare repository and has none; say which revision: --rev main", r.top)
	}
	root, err := r.openRoot()
	if err != nil {
		return nil, Revision{}, err
	}
	snap := &snapshot{ctx: ctx, root: root, hash: r.hash, keep: keepTotal, dirs: map[string]bool{".": true}}
	if r.git == nil {
		err = snap.walk(".")
	} else {
		err = r.listWorkTree(ctx, snap)
	}
	if err != nil {
		return nil, Revision{}, fmt.Errorf("cannot read work tree %q: %w", r.top, err)
	}
	tree, err := newFiles(snap.nodes, snap.open)
	if err != nil {
		return nil, Revision{}, err
	}
	info, err := r.compare(ctx, snap.nodes)
	if err != nil {
		return nil, Revision{}, err
	}
	info.Digest, err = TreeDigest(tree)
	return tree, info, err
}

func (r *Repo) openRoot() (*os.Root, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.root != nil {
		return r.root, nil
	}
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return nil, fmt.Errorf("cannot read work tree: %w", err)
	}
	r.root = root
	return root, nil
}

// listWorkTree lets git say which files count, and reads them.
func (r *Repo) listWorkTree(ctx context.Context, snap *snapshot) error {
	seen := map[string]bool{}
	return r.git.stream(ctx, func(out io.Reader) error {
		return scanRecords(out, func(line string) error {
			name, err := listedName(line)
			if err != nil || seen[name] {
				return err
			}
			seen[name] = true
			return snap.add(name)
		})
	}, "ls-files", "-z", "-t", "--stage", "--cached", "--others", "--exclude-standard")
}

// listedName reads a line of ls-files -t --stage: "? NAME" for an untracked
// file, "H MODE ID STAGE\tNAME" for a tracked one.
func listedName(line string) (string, error) {
	if name, ok := strings.CutPrefix(line, "? "); ok {
		if dir, isDir := strings.CutSuffix(name, "/"); isDir {
			return "", &pathError{"use", dir, "it is a git repository of its own; move it away or name it in .gitignore", nil}
		}
		return name, nil
	}
	meta, name, ok := strings.Cut(line, "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 4 {
		return "", fmt.Errorf("git answered %q", shorten(line))
	}
	if f[1] == "160000" {
		return "", submoduleError(name)
	}
	return name, nil
}

// compare tells what the files are compared to HEAD.
func (r *Repo) compare(ctx context.Context, nodes []*node) (Revision, error) {
	if r.git == nil {
		return Revision{}, nil
	}
	if _, err := r.git.output(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil && ctx.Err() == nil {
		return Revision{Dirty: true}, nil // no commit yet: all is uncommitted
	}
	head, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return Revision{}, err
	}
	committed, err := r.list(ctx, head.Commit)
	if err != nil {
		return Revision{}, inRevision(err, "HEAD")
	}
	head.Dirty = !sameContent(nodes, committed)
	return head, nil
}

func sameContent(a, b []*node) bool {
	if len(a) != len(b) {
		return false
	}
	was := make(map[string]*node, len(b))
	for _, n := range b {
		was[n.Path] = n
	}
	for _, n := range a {
		w := was[n.Path]
		if w == nil || w.id != n.id || w.Type != n.Type || w.Exec != n.Exec {
			return false
		}
	}
	return true
}

// snapshot reads files below a root and remembers what they were.
type snapshot struct {
	ctx   context.Context
	root  *os.Root
	hash  string
	keep  int64
	dirs  map[string]bool // folder: is it a real one
	nodes []*node
}

// add reads one name. Names that are gone, or behind something that is no
// folder any more, are left out: they are deleted files.
func (s *snapshot) add(name string) error {
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	if err := checkEntryPath(name); err != nil {
		return err
	}
	if len(s.nodes) >= maxFiles {
		return fmt.Errorf("it has more than %d files", maxFiles)
	}
	if !s.isDir(path.Dir(name)) {
		return nil
	}
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := s.read(name, info)
	if n != nil {
		s.nodes = append(s.nodes, n)
	}
	return err
}

// isDir tells whether every part of dir is a real folder, not a link to one.
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

func (s *snapshot) read(name string, info fs.FileInfo) (*node, error) {
	n := &node{Entry: Entry{Path: name, Size: info.Size()}}
	switch {
	case info.Mode().IsRegular():
		n.Exec = info.Mode()&0o100 != 0
		return n, s.digest(n, info)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := s.root.Readlink(name)
		if err != nil {
			return nil, err
		}
		n.Type, n.target, n.Size = Symlink, target, int64(len(target))
		id := s.blobHash(n.Size)
		io.WriteString(id, target)
		n.id = hex.EncodeToString(id.Sum(nil))
		return n, checkTarget(name, target)
	case info.IsDir():
		return nil, nil // a tracked file turned into a folder; what it holds is listed
	}
	return nil, &pathError{"use", name, fmt.Sprintf("it is neither file, folder nor link (%s); name it in .gitignore or remove it", info.Mode()), nil}
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

// digest reads a file to its end, for both of its names and to keep it.
func (s *snapshot) digest(n *node, info fs.FileInfo) error {
	if n.Size > maxFileSize {
		return &pathError{"use", n.Path, fmt.Sprintf("it has %d bytes; the limit is %d GiB", n.Size, maxFileSize>>30), nil}
	}
	f, err := s.openFile(n.Path, info)
	if err != nil {
		return err
	}
	defer f.Close()
	id, sum := s.blobHash(n.Size), sha256.New()
	var kept *bytes.Buffer
	w := io.MultiWriter(id, sum)
	if n.Size <= keepFile && n.Size <= s.keep {
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
		s.keep -= n.Size
	}
	n.id = hex.EncodeToString(id.Sum(nil))
	n.digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return nil
}

// openFile opens the regular file that Lstat gave info of. os.Root follows
// links that stay below it, so it has to be the same file still.
func (s *snapshot) openFile(name string, info fs.FileInfo) (*os.File, error) {
	f, err := s.root.OpenFile(name, openFlags, 0)
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

// walk reads all of a plain folder.
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
