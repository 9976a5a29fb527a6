package move

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Stage writes every new thing beside its place. On an error nothing visible
// has changed but new empty directories; call Discard.
func (b *Batch) Stage() error {
	for _, m := range b.Moves {
		if err := b.stage(m); err != nil {
			return &Error{m.Change, m.Path, "write", err}
		}
	}
	return nil
}

func (b *Batch) stage(m *Move) error {
	if m.InPlace() || m.From.Type == image.Absent && m.To.Type == image.Absent {
		return nil
	}
	if err := b.open(path.Dir(m.Path)); err != nil {
		return err
	}
	if m.To.Type == image.Absent {
		return nil
	}
	if err := b.build(m.Temp, m.To, !m.fresh()); err != nil {
		return err
	}
	if m.Validate != nil {
		if err := m.Validate(m.Temp); err != nil {
			return err
		}
	}
	if m.To.Type == image.Directory && m.To.Tree == "" && m.From.Type == image.Absent {
		if err := b.FS.RenameNew(m.Temp, m.Path); err != nil {
			return changedIf(err)
		}
		m.shown = true
	}
	return nil
}

func changedIf(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

// build makes what the image says at p, where nothing is. What is bare takes
// nothing over from its directory.
func (b *Batch) build(p string, f image.File, bare bool) error {
	switch f.Type {
	case image.Regular:
		return b.buildFile(p, f, bare)
	case image.Directory:
		if err := b.FS.Mkdir(p, 0o700); err != nil {
			return err
		}
		if bare { // at once, since what is below takes over from it
			if err := b.strip(p, f.Type); err != nil {
				return err
			}
			bare = false
		}
		if f.Tree != "" {
			if err := b.buildTree(p, f.Tree); err != nil {
				return err
			}
		}
	case image.Symlink:
		if err := b.FS.Symlink(f.Target, p); err != nil {
			return err
		}
	default:
		if err := b.FS.Mknod(p, f.Type, 0o600, f.Rdev); err != nil {
			return err
		}
	}
	if bare {
		if err := b.strip(p, f.Type); err != nil {
			return err
		}
	}
	n, err := b.FS.OpenNode(p)
	if err != nil {
		return err
	}
	defer n.Close()
	return dress(n, image.File{Type: f.Type}, f)
}

func (b *Batch) buildFile(p string, f image.File, bare bool) error {
	w, err := b.FS.Create(p)
	if err != nil {
		return err
	}
	if bare {
		err = b.strip(p, f.Type)
	}
	if err == nil {
		err = b.fillFile(w, f)
	}
	if err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

func (b *Batch) fillFile(w host.File, f image.File) error {
	if err := b.writeContent(w, f.Digest); err != nil {
		return err
	}
	if err := dress(w, image.File{Type: image.Regular, Mode: 0o600}, f); err != nil {
		return err
	}
	if b.small() {
		return w.Sync()
	}
	w.StartWriteback()
	return nil
}

func (b *Batch) writeContent(w host.File, digest string) error {
	rc, size, err := b.Store.Open(digest)
	if err != nil {
		return err
	}
	defer rc.Close()
	n, err := copySparse(w, rc)
	if err == nil && n != size {
		err = fmt.Errorf("object %s has %d bytes instead of %d", digest, n, size)
	}
	return err
}

// buildTree makes everything that a manifest says below dir. Directories get
// their times last, when nothing is written into them any more.
func (b *Batch) buildTree(dir, manifest string) error {
	type late struct {
		path string
		f    image.File
	}
	var dirs []late
	err := capture.ReadTree(b.Store, manifest, func(e capture.TreeEntry) error {
		p := path.Join(dir, string(e.Rel))
		switch {
		case len(e.Same) > 0:
			return b.FS.Link(path.Join(dir, string(e.Same)), p)
		case e.File.Type == image.Directory:
			dirs = append(dirs, late{p, e.File})
			return b.FS.Mkdir(p, 0o700)
		}
		return b.build(p, e.File, false) // dir itself was made bare
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		err = b.dressPath(dirs[i].path, image.File{Type: image.Directory}, dirs[i].f)
	}
	return err
}

func (b *Batch) dressPath(p string, from, to image.File) error {
	n, err := b.FS.OpenNode(p)
	if err != nil {
		return err
	}
	defer n.Close()
	return dress(n, from, to)
}

// Holes are looked for in units of a block, which is that of the file systems;
// buffer is how much is read at once.
const (
	block  = 4 << 10
	buffer = 16 * block
)

// copySparse copies r and leaves holes where a whole block is zero.
func copySparse(w host.File, r io.Reader) (int64, error) {
	s := sparse{w: w}
	buf := make([]byte, buffer)
	for {
		n, err := io.ReadFull(r, buf)
		if err := s.take(buf[:n]); err != nil {
			return s.size, err
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return s.size, s.end()
		}
		if err != nil {
			return s.size, err
		}
	}
}

// sparse writes a file but for its holes.
type sparse struct {
	w    host.File
	size int64 // of what was taken
	at   int64 // where w is: less than size after a hole
}

// take adds b, which begins at a block.
func (s *sparse) take(b []byte) error {
	for len(b) > 0 {
		n, zero := stretch(b)
		if !zero {
			if err := s.write(b[:n]); err != nil {
				return err
			}
		}
		s.size += int64(n)
		b = b[n:]
	}
	return nil
}

func (s *sparse) write(b []byte) error {
	if s.at < s.size {
		if _, err := s.w.Seek(s.size, io.SeekStart); err != nil {
			return err
		}
	}
	s.at = s.size + int64(len(b))
	_, err := s.w.Write(b)
	return err
}

// end gives the file its size if a hole ends it.
func (s *sparse) end() error {
	if s.at < s.size {
		return s.w.Truncate(s.size)
	}
	return nil
}

// stretch is how many bytes from the beginning of b are alike: in blocks that
// are all zero, or in blocks that are not.
func stretch(b []byte) (n int, zero bool) {
	zero = allZero(b[:min(block, len(b))])
	for n < len(b) && allZero(b[n:min(n+block, len(b))]) == zero {
		n = min(n+block, len(b))
	}
	return n, zero
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
