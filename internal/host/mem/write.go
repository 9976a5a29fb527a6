package mem

import (
	"fmt"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

const flagImmutable = 0x10

// begin counts an operation, takes the lock and finds the place. The caller
// unlocks when there is no error.
func (f *FS) begin(op, what, path string) (spot, error) {
	if err := host.CheckPath(path); err != nil {
		return spot{}, err
	}
	if err := f.op(op, path); err != nil {
		return spot{}, err
	}
	f.mu.Lock()
	s, err := f.find(path)
	if err == nil && path == "/" {
		err = errBusy
	}
	if err != nil {
		f.mu.Unlock()
		return spot{}, failed(what, path, err)
	}
	return s, nil
}

// add begins an operation that makes a new entry.
func (f *FS) add(op, what, path string, make func() *inode) (*inode, error) {
	s, err := f.begin(op, what, path)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	if err := free(s); err != nil {
		return nil, failed(what, path, err)
	}
	n := make()
	if n.typ == image.Directory {
		n.parent = s.dir
	}
	f.change(entryChange{s, n})
	return n, nil
}

// free returns the reason if no entry can be created at a place.
func free(s spot) error {
	switch {
	case s.get() != nil:
		return errExists
	case s.dir.attrs&flagImmutable != 0:
		return errNotPermit
	case s.dir.nlink == 0:
		return errNoEntry
	}
	return nil
}

// Create implements host.Writer.
func (f *FS) Create(path string) (host.File, error) {
	n, err := f.add(host.OpCreate, "create", path, func() *inode { return f.newInode(image.Regular, 0o600) })
	if err != nil {
		return nil, err
	}
	return &file{node: node{fs: f, path: path, n: n}, writable: true}, nil
}

// OpenAppend implements host.Writer.
func (f *FS) OpenAppend(path string) (host.File, error) {
	s, err := f.begin(host.OpAppend, "open", path)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()
	if s.get() == nil {
		if err := free(s); err != nil {
			return nil, failed("open", path, err)
		}
		f.change(entryChange{s, f.newInode(image.Regular, 0o600)})
	}
	return f.openRegular(path, file{writable: true, appends: true})
}

// OpenWrite implements host.Writer.
func (f *FS) OpenWrite(path string) (host.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openRegular(path, file{writable: true})
}

// OpenNode implements host.Writer.
func (f *FS) OpenNode(path string) (host.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.get("open", path)
	if err != nil {
		return nil, err
	}
	return &node{fs: f, path: path, n: n}, nil
}

// Mkdir implements host.Writer.
func (f *FS) Mkdir(path string, mode uint32) error {
	_, err := f.add(host.OpMkdir, "make directory", path, func() *inode { return f.newInode(image.Directory, mode) })
	return err
}

// Symlink implements host.Writer.
func (f *FS) Symlink(target, path string) error {
	if target == "" {
		return failed("make link", path, errNoEntry)
	}
	_, err := f.add(host.OpSymlink, "make link", path, func() *inode {
		n := f.newInode(image.Symlink, 0o777)
		n.target = target
		return n
	})
	return err
}

// Mknod implements host.Writer.
func (f *FS) Mknod(path string, typ image.FileType, mode uint32, rdev uint64) error {
	switch typ {
	case image.Fifo, image.Socket, image.CharDev, image.BlockDev:
	default:
		return fmt.Errorf("cannot create node %q: a %s is not a fifo, socket or device", path, typ)
	}
	_, err := f.add(host.OpMknod, "make node", path, func() *inode {
		n := f.newInode(typ, mode)
		n.rdev = rdev
		return n
	})
	return err
}

// Link implements host.Writer.
func (f *FS) Link(oldpath, newpath string) error {
	to, err := f.begin(host.OpLink, "link", newpath)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	n, err := f.get("link", oldpath)
	if err != nil {
		return err
	}
	if err = free(to); err == nil && (n.typ == image.Directory || n.attrs&flagImmutable != 0) {
		err = errNotPermit
	}
	if err != nil {
		return failed("link", newpath, err)
	}
	n.nlink++
	n.ctime = f.now()
	f.change(entryChange{to, n})
	return nil
}

// Rename implements host.Writer.
func (f *FS) Rename(oldpath, newpath string) error {
	return f.rename(host.OpRename, oldpath, newpath, false)
}

// RenameNew implements host.Writer.
func (f *FS) RenameNew(oldpath, newpath string) error {
	return f.rename(host.OpRenameNew, oldpath, newpath, true)
}

func (f *FS) rename(op, oldpath, newpath string, fresh bool) error {
	to, err := f.begin(op, "rename to", newpath)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	from, err := f.find(oldpath)
	if err == nil {
		err = f.mayRename(from, to, fresh)
	}
	if err != nil {
		return failed("rename "+oldpath+" to", newpath, err)
	}
	n, old := from.get(), to.get()
	if n == old {
		return nil
	}
	if old != nil {
		f.unlinked(old)
	}
	n.ctime = f.now()
	f.change(entryChange{from, nil}, entryChange{to, n})
	if n.typ == image.Directory {
		n.parent = to.dir
	}
	return nil
}

// mayRename holds the rules of rename(2).
func (f *FS) mayRename(from, to spot, fresh bool) error {
	n, old := from.get(), to.get()
	switch {
	case n == nil:
		return errNoEntry
	case n == f.root || n.mount || (old != nil && old.mount):
		return errBusy
	case fresh && old != nil:
		return errExists
	case (n.attrs|from.dir.attrs|to.dir.attrs)&flagImmutable != 0, old != nil && old.attrs&flagImmutable != 0:
		return errNotPermit
	case n.typ == image.Directory && within(to.dir, n):
		return errInvalid
	case old == nil || old == n:
		return nil
	case old.typ == image.Directory && within(from.dir, old):
		return host.ErrNotEmpty
	case n.typ != image.Directory && old.typ == image.Directory:
		return errIsDir
	case n.typ == image.Directory && old.typ != image.Directory:
		return errNotDir
	case len(old.entries) > 0:
		return host.ErrNotEmpty
	}
	return nil
}

// within reports whether a directory is another or below it.
func within(dir, top *inode) bool {
	for ; dir != top; dir = dir.parent {
		if dir == dir.parent {
			return false
		}
	}
	return true
}

// unlinked notes that an inode lost a name.
func (f *FS) unlinked(n *inode) {
	n.nlink--
	n.ctime = f.now()
}

// Remove implements host.Writer.
func (f *FS) Remove(path string) error {
	s, err := f.begin(host.OpRemove, "remove", path)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	n := s.get()
	switch {
	case n == nil:
		err = errNoEntry
	case n.mount:
		err = errBusy
	case (n.attrs|s.dir.attrs)&flagImmutable != 0:
		err = errNotPermit
	case len(n.entries) > 0:
		err = host.ErrNotEmpty
	}
	if err != nil {
		return failed("remove", path, err)
	}
	f.unlinked(n)
	f.change(entryChange{s, nil})
	return nil
}

// SyncDir implements host.Writer.
func (f *FS) SyncDir(path string) error {
	n, err := f.syncing(host.OpSyncDir, path)
	if err != nil {
		return err
	}
	defer f.mu.Unlock()
	if n.typ != image.Directory {
		return failed("sync", path, errNotDir)
	}
	f.settle(n)
	n.stable = n.meta
	return nil
}

// SyncFS implements host.Writer.
func (f *FS) SyncFS(path string) error {
	_, err := f.syncing(host.OpSyncFS, path)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.loseAll()
		return err
	}
	defer f.mu.Unlock()
	f.settleAll()
	return nil
}

// syncing counts a sync and finds the inode. The caller unlocks when there is
// no error.
func (f *FS) syncing(op, path string) (*inode, error) {
	err := host.CheckPath(path)
	if err == nil {
		err = f.op(op, path)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	n, err := f.get("sync", path)
	if err != nil {
		f.mu.Unlock()
	}
	return n, err
}
