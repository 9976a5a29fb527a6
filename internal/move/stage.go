package move

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Stage writes every new thing beside its place. On an error nothing visible
// has changed; call Drop.
func (b *Batch) Stage() error {
	b.pair()
	c := b.newStagers()
	for _, m := range b.Moves {
		if m.twin == nil && !c.stage(m) {
			break
		}
	}
	if err := c.wait(); err != nil {
		return err
	}
	if err := b.stageNames(); err != nil {
		return err
	}
	for _, m := range slices.Backward(b.Moves) {
		if m.plainDir() && !m.hands() {
			if err := b.setPathMetadata(m.place(), image.File{Type: image.Directory}, m.To); err != nil {
				return &Error{m.Change, m.Path, "write", err}
			}
		}
	}
	return nil
}

// hands reports whether the new directory must have the properties that new files in it inherit.
// Such a directory gets its metadata before its content. Any other directory gets it afterwards, so
// that it stays private and keeps its time.
func (m *Move) hands() bool { return len(m.To.Xattrs) > 0 || m.To.Attrs != 0 }

func (b *Batch) stage(m *Move) error {
	if m.InPlace() || m.From.Type == image.Absent && m.To.Type == image.Absent {
		return nil
	}
	if m.in == nil {
		if err := b.open(path.Dir(m.Path)); err != nil {
			return err
		}
	}
	if m.To.Type == image.Absent {
		return nil
	}
	p := m.place()
	if m.plainDir() && !m.hands() {
		return b.makeDir(p, !m.fresh())
	}
	if m.Name != "" && b.FS.Link(m.Name, p) == nil {
		return nil
	}
	if err := b.build(p, m.To, !m.fresh()); err != nil {
		return err
	}
	if m.Validate != nil {
		return m.Validate(p)
	}
	return nil
}

func changedIf(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

// build creates the file of the image at p, where no file exists. With bare, it inherits nothing
// from its directory.
func (b *Batch) build(p string, f image.File, bare bool) error {
	switch f.Type {
	case image.Regular:
		return b.buildFile(p, f, bare)
	case image.Directory:
		if err := b.makeDir(p, bare); err != nil {
			return err
		}
		bare = false
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
	return setMetadata(n, image.File{Type: f.Type}, f)
}

// makeDir creates a private directory. With bare, it removes inherited properties at once, because
// files below would inherit them too.
func (b *Batch) makeDir(p string, bare bool) error {
	if err := b.FS.Mkdir(p, 0o700); err != nil || !bare {
		return err
	}
	return b.strip(p, image.Directory)
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
	size, err := b.writeContent(w, f)
	if err != nil {
		return err
	}
	if err := setMetadata(w, image.File{Type: image.Regular, Mode: 0o600}, f); err != nil {
		return err
	}
	if b.small() {
		return w.Sync()
	}
	if size >= early {
		w.StartWriteback()
	}
	return nil
}

// early is the size from which on it pays to begin writing back at once. Of
// smaller files the barrier writes many together.
const early = 1 << 20

// writeContent writes the content of a file, decrypted if it is sealed, and returns its size in
// bytes.
func (b *Batch) writeContent(w host.File, f image.File) (int64, error) {
	digest := f.Digest
	rc, size, err := b.Store.Open(digest)
	if err != nil {
		return 0, err
	}
	defer rc.Close()
	if f.Sealed != "" {
		return b.writeSealed(w, f.Sealed, rc)
	}
	n, err := copySparse(w, rc, size)
	if err == nil && n != size {
		err = fmt.Errorf("object %s has %d bytes instead of %d", digest, n, size)
	}
	return n, err
}

func (b *Batch) writeSealed(w host.File, key string, r io.Reader) (int64, error) {
	v, ok := b.FS.(host.Veiled)
	if !ok {
		return 0, fmt.Errorf("cannot decrypt sealed content: %w", host.ErrUnsupported)
	}
	sealed, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	content, err := v.Unseal(key, sealed)
	if err != nil {
		return 0, fmt.Errorf("cannot decrypt sealed content: %w", err)
	}
	return copySparse(w, bytes.NewReader(content), int64(len(content)))
}

// buildTree creates the entries of a manifest below dir. Directories get their times last, after
// all writes.
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
		err = b.setPathMetadata(dirs[i].path, image.File{Type: image.Directory}, dirs[i].f)
	}
	return err
}

func (b *Batch) setPathMetadata(p string, from, to image.File) error {
	n, err := b.FS.OpenNode(p)
	if err != nil {
		return err
	}
	defer n.Close()
	return setMetadata(n, from, to)
}

// pair finds the moves that restore a further name of a file which an earlier move of the batch makes.
func (b *Batch) pair() {
	first := map[string]*Move{}
	for _, m := range b.Moves {
		if m.Inode == "" || m.Name != "" || m.To.Type != image.Regular {
			continue
		}
		if f := first[m.Inode]; f == nil {
			first[m.Inode] = m
		} else if f.To.Same(&m.To) && f.To.MTime == m.To.MTime {
			m.twin = f
		}
	}
}

// stageNames stages the further names of staged files. If a link is impossible, the path becomes a
// separate file.
func (b *Batch) stageNames() error {
	for _, m := range b.Moves {
		if m.twin == nil {
			continue
		}
		if err := b.stageName(m); err != nil {
			return &Error{m.Change, m.Path, "write", err}
		}
	}
	return nil
}

func (b *Batch) stageName(m *Move) error {
	if m.in == nil {
		if err := b.open(path.Dir(m.Path)); err != nil {
			return err
		}
	}
	if b.FS.Link(m.twin.place(), m.place()) == nil {
		return nil
	}
	return b.stage(m)
}
