package move

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Show makes every move visible, in order. It stops at the first error. Moves that are already
// visible remain so and are reported by Shown.
func (b *Batch) Show() error {
	for _, m := range b.Moves {
		if m.in != nil {
			continue // its directory was renamed earlier
		}
		if err := b.show(m); err != nil {
			return &Error{m.Change, m.Path, "change", err}
		}
		m.shown = true
	}
	return nil
}

// Shown reports whether the move is visible. A move inside a new directory is visible as soon as
// the directory is, even if a move before it failed.
func (m *Move) Shown() bool {
	if m.in != nil {
		return m.in.Shown()
	}
	return m.shown
}

func (b *Batch) show(m *Move) error {
	if m.From.Type == image.Absent {
		if m.To.Type == image.Absent {
			return nil
		}
		return changedIf(b.FS.RenameNew(m.Temp, m.Path))
	}
	if err := b.still(m); err != nil {
		return err
	}
	fromDir, toDir := m.From.Type == image.Directory, m.To.Type == image.Directory
	switch {
	case m.InPlace():
		return b.rewrite(m)
	case m.To.Type == image.Absent && fromDir && m.From.Tree == "":
		return b.removeDir(m)
	case m.To.Type == image.Absent && fromDir:
		return b.FS.RenameNew(m.Path, m.Temp)
	case m.To.Type == image.Absent:
		return b.FS.Remove(m.Path)
	case fromDir || toDir:
		return b.swap(m)
	}
	return b.FS.Rename(m.Temp, m.Path)
}

func (b *Batch) still(m *Move) error {
	ok, err := capture.Still(b.FS, m.Path, m.From)
	if err == nil && !ok {
		err = ErrChanged
	}
	return err
}

// removeDir removes a managed directory. If it contains other files, these and the directory
// remain.
func (b *Batch) removeDir(m *Move) error {
	err := b.FS.Remove(m.Path)
	if !errors.Is(err, host.ErrNotEmpty) {
		return err
	}
	names, lerr := b.FS.ReadDir(m.Path)
	if lerr != nil {
		return lerr
	}
	m.Kept = names
	return nil
}

// swap exchanges things of which one is a directory, which rename cannot do in
// one operation. Between the two the path is empty; recovery knows that from
// the types in the journal.
func (b *Batch) swap(m *Move) error {
	if m.From.Type == image.Directory && m.From.Tree == "" {
		if err := b.FS.Remove(m.Path); err != nil {
			return err
		}
	} else if err := b.FS.RenameNew(m.Path, m.aside()); err != nil {
		return err
	}
	return changedIf(b.FS.RenameNew(m.Temp, m.Path))
}

// setsAside reports whether a temporary file can exist after the move is visible.
func (m *Move) setsAside() bool {
	return m.From.Type == image.Directory || m.From.Type != image.Absent && m.To.Type == image.Directory
}

// Atomic reports whether the move is a single operation, which is either complete or not begun.
func (m *Move) Atomic() bool {
	swap := m.From.Type != image.Absent && m.To.Type != image.Absent && m.setsAside()
	return !m.InPlace() && !swap
}

// aside returns a second temporary name, for the file that a swap sets aside.
func (m *Move) aside() string {
	return path.Join(path.Dir(m.Temp), AsideOf(path.Base(m.Temp)))
}

// AsideOf returns the second temporary name that belongs to a first one.
func AsideOf(temp string) string { return temp[:len(temp)-1] + "-old~" }

// rewrite changes the existing inode: its metadata, and also its content if a mount makes renaming
// impossible.
func (b *Batch) rewrite(m *Move) error {
	n, err := b.FS.OpenNode(m.Path)
	if err != nil {
		return err
	}
	defer n.Close()
	if st, err := n.Stat(); err != nil {
		return err
	} else if st.Ino != m.From.Stat.Ino || st.Dev != m.From.Stat.Dev {
		return ErrChanged
	}
	if !m.metadataOnly() {
		if err := b.rewriteContent(m); err != nil {
			return err
		}
	}
	return setMetadata(n, m.From.File, m.To)
}

func (b *Batch) rewriteContent(m *Move) error {
	w, err := b.FS.OpenWrite(m.Path)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Truncate(0); err != nil {
		return err
	}
	if _, err := b.writeContent(w, m.To); err != nil {
		return err
	}
	return w.Sync()
}

// Barrier makes staged files durable. Files of a small batch were synced when they were written.
// Only a sync of the whole file system covers the metadata of links, directories and nodes.
func (b *Batch) Barrier() error {
	if b.small() {
		return nil
	}
	var dirs []string
	for m := range b.own {
		if m.To.Type != image.Absent && !m.InPlace() {
			dirs = append(dirs, path.Dir(m.Path))
		}
	}
	return SyncFS(b.FS, distinct(dirs))
}

// Settle makes the renames durable.
func (b *Batch) Settle() error {
	if slices.ContainsFunc(b.Moves, (*Move).InPlace) {
		return SyncFS(b.FS, b.Parents())
	}
	return SyncDirs(b.FS, b.Parents())
}

// Parents returns the directories in which entries change, each once. It omits directories in a new
// tree, which are durable before the tree is visible.
func (b *Batch) Parents() []string {
	var out []string
	for m := range b.own {
		out = append(out, path.Dir(m.Path))
	}
	return distinct(out)
}

func distinct(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// SyncDirs makes the entries of distinct directories durable. A removed directory is not an error,
// because its removal is synced with its parent.
func SyncDirs(f host.FS, dirs []string) error {
	if len(dirs) > few {
		return SyncFS(f, dirs)
	}
	for _, d := range dirs {
		if _, err := f.Lstat(d); unreachable(err) {
			continue
		}
		if err := f.SyncDir(d); err != nil && !unreachable(err) {
			return fmt.Errorf("cannot make %q durable: %w", d, err)
		}
	}
	return nil
}

// SyncFS syncs each file system of the directories once. For a directory that was removed later in
// the batch, it uses the nearest existing parent.
func SyncFS(f host.FS, dirs []string) error {
	done := map[uint64]bool{}
	asked := map[string]bool{}
	for _, d := range dirs {
		st, err := f.Lstat(d)
		for unreachable(err) && d != "/" {
			d = path.Dir(d)
			st, err = f.Lstat(d)
		}
		if asked[d] || err == nil && done[st.Dev] {
			continue
		}
		if err != nil {
			return err
		}
		asked[d], done[st.Dev] = true, true
		if err := f.SyncFS(d); err != nil {
			return fmt.Errorf("cannot make the file system of %q durable: %w", d, err)
		}
	}
	return nil
}

// Aside returns the temporary names of files that the moves may have set aside. Remove them when
// the moves are durable.
func (b *Batch) Aside() []string {
	var out []string
	for m := range b.own {
		if m.setsAside() {
			out = append(out, m.Temp)
		}
	}
	return out
}

// Drop removes the temporary files of a batch that is not visible, or only in part. Visible files
// remain.
func (b *Batch) Drop() error {
	var errs []error
	for m := range b.own {
		errs = append(errs, RemoveTemp(b.FS, m.Temp))
	}
	return errors.Join(errs...)
}

// RemoveTemp removes a temporary file and its second name, with everything below. Missing files are
// not an error.
func RemoveTemp(f host.FS, temp string) error {
	if !IsTemp(path.Base(temp)) {
		return fmt.Errorf("cannot remove %q: it is not a temporary file of fettle", temp)
	}
	aside := path.Join(path.Dir(temp), AsideOf(path.Base(temp)))
	return errors.Join(removeAll(f, temp), removeAll(f, aside))
}

// unreachable reports whether an error means that no managed file can exist at a path. The path or
// a parent was removed or became a link.
func unreachable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err) || host.IsLoop(err) || errors.Is(err, host.ErrUnsafePath)
}

func removeAll(f host.FS, p string) error {
	st, err := f.Lstat(p)
	if unreachable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := loosen(f, p, st); err != nil {
		return err
	}
	if st.Type == image.Directory {
		names, err := f.ReadDir(p)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := removeAll(f, path.Join(p, n)); err != nil {
				return err
			}
		}
	}
	return f.Remove(p)
}

// loosen clears the attributes that prevent the removal of an inode or of its content.
func loosen(f host.FS, p string, st host.Stat) error {
	if st.Type != image.Directory && st.Type != image.Regular {
		return nil
	}
	attrs, err := f.Attrs(p)
	if err != nil || attrs&fixed == 0 {
		return err
	}
	n, err := f.OpenNode(p)
	if err != nil {
		return err
	}
	defer n.Close()
	return n.SetAttrs(attrs &^ fixed)
}
