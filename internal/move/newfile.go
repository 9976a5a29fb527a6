package move

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Properties that a new file inherits from its directory, in addition to inode attributes: a
// default access list, and the compression of btrfs.
const (
	defaultList = "system.posix_acl_default"
	compression = "btrfs.compression"
)

// fresh reports whether the move creates a path that did not exist. A new file inherits the
// settings of its directory for new files. A restored or replaced file keeps its own.
func (m *Move) fresh() bool { return fresh(m.From.File, m.To) }

func fresh(from, to image.File) bool {
	_, known := to.ModTime()
	return from.Type == image.Absent && !known
}

// handed are the attributes by which a directory hands something down.
func handed() []string { return []string{"system.posix_acl_access", defaultList, compression} }

// AsMade returns the file at the path of a move without properties that it inherited from its
// directory when it was new. The result can be compared with the target of the move.
func AsMade(now, from, to image.File) image.File {
	if !fresh(from, to) || now.Type != to.Type {
		return now
	}
	now.Xattrs = maps.Clone(now.Xattrs)
	for _, name := range handed() {
		if _, ok := to.Xattrs[name]; !ok {
			delete(now.Xattrs, name)
		}
	}
	if now.Attrs&fixed == to.Attrs&fixed {
		now.Attrs = to.Attrs
	}
	return now
}

// strip removes properties that a new inode inherited from its directory.
func (b *Batch) strip(p string, typ image.FileType) error {
	hands, err := b.handsDown(path.Dir(p))
	if err != nil || !hands || typ == image.Symlink {
		return err
	}
	have, err := b.FS.Xattrs(p)
	if err != nil {
		return err
	}
	n, err := b.FS.OpenNode(p)
	if err != nil {
		return err
	}
	defer n.Close()
	for _, name := range handed() {
		if _, ok := have[name]; !ok {
			continue
		}
		if err := n.RemoveXattr(name); err != nil {
			return err
		}
	}
	if !slices.Contains([]image.FileType{image.Regular, image.Directory}, typ) {
		return nil
	}
	attrs, err := b.FS.Attrs(p)
	if err != nil || attrs == 0 {
		return err
	}
	return n.SetAttrs(0)
}

// handsDown reports whether new files in a directory inherit more than its group.
func (b *Batch) handsDown(dir string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hands, ok := b.handing[dir]; ok {
		return hands, nil
	}
	x, err := b.FS.Xattrs(dir)
	if err != nil {
		return false, err
	}
	attrs, err := b.dirAttrs(dir)
	if err != nil {
		return false, err
	}
	if b.handing == nil {
		b.handing = map[string]bool{}
	}
	b.handing[dir] = x[defaultList] != nil || x[compression] != nil || attrs&^fixed != 0
	return b.handing[dir], nil
}

// fixed are the attributes that prevent changes of an inode or of its content.
const fixed = host.AttrImmutable | host.AttrAppend

// open returns an error if entries of a directory cannot be removed. In an append-only directory a
// temporary file could be created, but never removed.
func (b *Batch) open(dir string) error {
	attrs, err := b.dirAttrs(dir)
	if unreachable(err) {
		return nil // creating the file there gives a better error
	}
	if err == nil && attrs&fixed != 0 {
		return fmt.Errorf("cannot change the entries of %q: %w", dir, ErrImmutable)
	}
	return err
}

// dirAttrs reads the attributes of a directory once for each batch.
func (b *Batch) dirAttrs(dir string) (uint32, error) {
	if known, ok := b.attrs.Load(dir); ok {
		return known.(uint32), nil
	}
	attrs, err := b.FS.Attrs(dir)
	if err == nil {
		b.attrs.Store(dir, attrs)
	}
	return attrs, err
}
