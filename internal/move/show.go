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

// Show makes every move visible, in order. It stops at the first error; what
// was shown before stays and is in Shown.
func (b *Batch) Show() error {
	for _, m := range b.Moves {
		if m.in != nil {
			continue // the rename of its directory came before
		}
		if err := b.show(m); err != nil {
			return &Error{m.Change, m.Path, "change", err}
		}
		m.shown = true
	}
	return nil
}

// Shown tells whether the move is visible. What is in a directory that was made
// with it is, as soon as that is: also what comes after a move that failed.
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

// removeDir removes a directory of ours. What others put there stays, and so
// does the directory.
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

// setsAside tells whether something may stand under a temporary name when the
// move is visible.
func (m *Move) setsAside() bool {
	return m.From.Type == image.Directory || m.From.Type != image.Absent && m.To.Type == image.Directory
}

// Atomic tells whether the move is one operation, so that it is done or not
// begun whatever happens in it.
func (m *Move) Atomic() bool {
	swap := m.From.Type != image.Absent && m.To.Type != image.Absent && m.setsAside()
	return !m.InPlace() && !swap
}

// aside is a second temporary name, for what a swap moved away.
func (m *Move) aside() string {
	return path.Join(path.Dir(m.Temp), AsideOf(path.Base(m.Temp)))
}

// AsideOf names the second temporary that goes with a first.
func AsideOf(temp string) string { return temp[:len(temp)-1] + "-old~" }

// rewrite changes the inode that is there: its metadata, and its content too
// where a mount makes renaming impossible.
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
	return dress(n, m.From.File, m.To)
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

// Barrier makes what was staged durable. Files of a small batch were synced
// when they were written; nothing but a sync of the whole file system reaches
// the metadata of links, directories and nodes.
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

// Parents are the directories in which entries change, each once. Those in a new
// tree are not among them: they are durable before it is shown.
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

// SyncDirs makes the entries of distinct directories durable. One that went is
// no error: what holds its parent's entry is synced with the parent.
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

// SyncFS syncs once each file system that holds one of the directories. For one
// that went, further on in the batch, its nearest parent stands in.
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

// Aside gives the temporaries under which the moves may have set something
// aside. They are to be removed when the moves are durable.
func (b *Batch) Aside() []string {
	var out []string
	for m := range b.own {
		if m.setsAside() {
			out = append(out, m.Temp)
		}
	}
	return out
}

// Drop removes every temporary of a batch that was not shown, or only in part.
// What is visible stays.
func (b *Batch) Drop() error {
	var errs []error
	for m := range b.own {
		errs = append(errs, RemoveTemp(b.FS, m.Temp))
	}
	return errors.Join(errs...)
}

// RemoveTemp removes a temporary and its second name, with all that is below.
// Nothing there is no error.
func RemoveTemp(f host.FS, temp string) error {
	if !IsTemp(path.Base(temp)) {
		return fmt.Errorf("cannot remove %q: it is no temporary of ours", temp)
	}
	aside := path.Join(path.Dir(temp), AsideOf(path.Base(temp)))
	return errors.Join(removeAll(f, temp), removeAll(f, aside))
}

// unreachable tells whether an error means that nothing of ours can be at a path:
// it, or a directory on the way, went or became a link.
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

// loosen takes away the attributes that keep an inode, or what is in it, from
// being removed.
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
