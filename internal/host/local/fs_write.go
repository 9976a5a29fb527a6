package local

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Create implements host.Writer.
func (h *Host) Create(path string) (host.File, error) {
	p, err := h.begin(host.OpCreate, "create", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	fd, err := openRetry(p.fd, p.base, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, failed("create", path, err)
	}
	h.dirs.came()
	return h.newFile(fd, path), nil
}

// begin counts an operation and finds its place.
func (h *Host) begin(op, what, path string) (place, error) {
	if err := host.CheckPath(path); err != nil {
		return place{}, err
	}
	if err := h.op(op, path); err != nil {
		return place{}, err
	}
	return h.writing(what, path)
}

// OpenAppend implements host.Writer.
func (h *Host) OpenAppend(path string) (host.File, error) {
	p, err := h.begin(host.OpAppend, "open", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	fd, err := openRetry(p.fd, p.base, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		h.dirs.came()
		return h.newFile(fd, path), nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, failed("open", path, err)
	}
	f, err := h.openRegular(p, path, unix.O_RDWR|unix.O_APPEND)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenWrite implements host.Writer. Opening changes nothing yet and is not counted.
func (h *Host) OpenWrite(path string) (host.File, error) {
	p, err := h.writing("open", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	f, err := h.openRegular(p, path, unix.O_RDWR)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenNode implements host.Writer. Opening changes nothing yet and is not counted.
func (h *Host) OpenNode(path string) (host.Node, error) {
	n, err := h.openNode(path)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (h *Host) openNode(path string) (*node, error) {
	p, err := h.fresh("open", path)
	if err != nil {
		return nil, err
	}
	defer p.done()
	return h.nodeAt(p, path)
}

func (h *Host) nodeAt(p place, path string) (*node, error) {
	fd, err := openRetry(p.fd, p.base, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, failed("open", path, err)
	}
	return &node{h: h, path: path, fd: fd, opath: true}, nil
}

// Mkdir implements host.Writer. Until the mode is exact it is narrower than
// wanted, never wider.
func (h *Host) Mkdir(path string, mode uint32) error {
	p, err := h.begin(host.OpMkdir, "make directory", path)
	if err != nil {
		return err
	}
	defer p.done()
	if err := whole(func() error { return unix.Mkdirat(p.fd, p.base, mode&0o777) }); err != nil {
		return failed("make directory", path, err)
	}
	h.changed(p, path)
	return h.exact(p, path, mode)
}

// exact reverts the effects of the umask and of a set-group-ID parent on a new entry.
func (h *Host) exact(p place, path string, mode uint32) error {
	n, err := h.nodeAt(p, path)
	if err != nil {
		return err
	}
	defer n.Close()
	st, err := n.Stat()
	if err != nil {
		return err
	}
	if _, gid := h.who.shown(h.who.uid, h.who.gid); st.GID != gid {
		if err := n.chown(st.UID, gid); err != nil {
			return err
		}
	}
	if st.Mode == mode&0o7777 {
		return nil
	}
	return n.chmod(mode)
}

// Symlink implements host.Writer.
func (h *Host) Symlink(target, path string) error {
	p, err := h.begin(host.OpSymlink, "make link", path)
	if err != nil {
		return err
	}
	defer p.done()
	if err := whole(func() error { return unix.Symlinkat(target, p.fd, p.base) }); err != nil {
		return failed("make link", path, err)
	}
	h.changed(p, path)
	return nil
}

// Link implements host.Writer.
func (h *Host) Link(oldpath, newpath string) error {
	to, err := h.begin(host.OpLink, "link", newpath)
	if err != nil {
		return err
	}
	defer to.done()
	from, err := h.writing("link", oldpath)
	if err != nil {
		return err
	}
	defer from.done()
	defer h.dirs.came()
	return failed("link", newpath, whole(func() error { return unix.Linkat(from.fd, from.base, to.fd, to.base, 0) }))
}

// Mknod implements host.Writer.
func (h *Host) Mknod(path string, typ image.FileType, mode uint32, rdev uint64) error {
	kind, ok := map[image.FileType]uint32{
		image.Fifo: unix.S_IFIFO, image.Socket: unix.S_IFSOCK, image.CharDev: unix.S_IFCHR, image.BlockDev: unix.S_IFBLK,
	}[typ]
	if !ok {
		return fmt.Errorf("cannot create node %q: a %s is not a fifo, socket or device", path, typ)
	}
	p, err := h.begin(host.OpMknod, "make node", path)
	if err != nil {
		return err
	}
	defer p.done()
	if err := whole(func() error { return unix.Mknodat(p.fd, p.base, kind|mode&0o777, int(rdev)) }); err != nil {
		return failed("make node", path, err)
	}
	h.dirs.came()
	return h.exact(p, path, mode)
}

// Rename implements host.Writer.
func (h *Host) Rename(oldpath, newpath string) error {
	return h.rename(host.OpRename, oldpath, newpath, 0)
}

// RenameNew implements host.Writer.
func (h *Host) RenameNew(oldpath, newpath string) error {
	return h.rename(host.OpRenameNew, oldpath, newpath, unix.RENAME_NOREPLACE)
}

func (h *Host) rename(op, oldpath, newpath string, flags uint) error {
	to, err := h.begin(op, "rename to", newpath)
	if err != nil {
		return err
	}
	defer to.done()
	from, err := h.writing("rename", oldpath)
	if err != nil {
		return err
	}
	defer from.done()
	if err := whole(func() error { return unix.Renameat2(from.fd, from.base, to.fd, to.base, flags) }); err != nil {
		return failed("rename "+oldpath+" to", newpath, err)
	}
	h.changed(from, oldpath)
	h.changed(to, newpath)
	return nil
}

// Remove implements host.Writer.
func (h *Host) Remove(path string) error {
	p, err := h.begin(host.OpRemove, "remove", path)
	if err != nil {
		return err
	}
	defer p.done()
	err = whole(func() error { return unix.Unlinkat(p.fd, p.base, 0) })
	if err == unix.EISDIR {
		err = whole(func() error { return unix.Unlinkat(p.fd, p.base, unix.AT_REMOVEDIR) })
	}
	if err != nil {
		return failed("remove", path, err)
	}
	h.changed(p, path)
	return nil
}

// SyncDir implements host.Writer.
func (h *Host) SyncDir(path string) error {
	return h.sync(host.OpSyncDir, path, unix.Fsync)
}

// SyncFS implements host.Writer.
func (h *Host) SyncFS(path string) error {
	return h.sync(host.OpSyncFS, path, unix.Syncfs)
}

func (h *Host) sync(op, path string, how func(int) error) error {
	if err := host.CheckPath(path); err != nil {
		return err
	}
	if err := h.op(op, path); err != nil || h.unsynced(op, path) {
		return err
	}
	p, err := h.fresh("sync", path)
	if err != nil {
		return err
	}
	defer p.done()
	fd, err := h.openToSync(p, op)
	if err != nil {
		return failed("sync", path, err)
	}
	defer unix.Close(fd)
	return failed("sync", path, whole(func() error { return how(fd) }))
}

// openToSync opens the path itself; for a whole file system a directory on
// it is as good when the path is nothing that can be opened.
func (h *Host) openToSync(p place, op string) (int, error) {
	st, err := h.statAt(p)
	switch {
	case err != nil:
		return -1, err
	case st.Type == image.Directory || op == host.OpSyncDir:
		return openQuiet(p.fd, p.base, unix.O_RDONLY|unix.O_DIRECTORY)
	case st.Type == image.Regular:
		return openQuiet(p.fd, p.base, unix.O_RDONLY|unix.O_NONBLOCK)
	}
	return openQuiet(p.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}
