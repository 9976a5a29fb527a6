package fault

import "fettle.dev/fettle/internal/host"

// node is an open inode on which a Plan strikes.
type node struct {
	host.Node
	plan *Plan
	path string
}

func (n *node) Stat() (host.Stat, error) {
	if err := n.plan.alive(); err != nil {
		return host.Stat{}, err
	}
	return n.Node.Stat()
}

func (n *node) Chown(uid, gid uint32) error {
	return n.plan.act(host.OpChown, n.path, func() error { return n.Node.Chown(uid, gid) })
}

func (n *node) Chmod(mode uint32) error {
	return n.plan.act(host.OpChmod, n.path, func() error { return n.Node.Chmod(mode) })
}

func (n *node) SetXattr(name string, value []byte) error {
	return n.plan.act(host.OpSetXattr, n.path, func() error { return n.Node.SetXattr(name, value) })
}

func (n *node) RemoveXattr(name string) error {
	return n.plan.act(host.OpRemoveXattr, n.path, func() error { return n.Node.RemoveXattr(name) })
}

func (n *node) SetAttrs(attrs uint32) error {
	return n.plan.act(host.OpSetAttrs, n.path, func() error { return n.Node.SetAttrs(attrs) })
}

func (n *node) SetTimes(atime, mtime int64) error {
	return n.plan.act(host.OpSetTimes, n.path, func() error { return n.Node.SetTimes(atime, mtime) })
}

// file is an open file on which a Plan strikes.
type file struct {
	node
	f host.File
}

func (h *Host) file(f host.File, path string, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return &file{node: node{Node: f, plan: h.plan, path: path}, f: f}, nil
}

func (f *file) Read(b []byte) (int, error) {
	if err := f.plan.alive(); err != nil {
		return 0, err
	}
	return f.f.Read(b)
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.plan.alive(); err != nil {
		return 0, err
	}
	return f.f.ReadAt(b, off)
}

// Write can fail in the middle, as on a full disk.
func (f *file) Write(b []byte) (int, error) {
	err := f.plan.Count(host.OpWrite, f.path)
	if err == nil {
		return f.f.Write(b)
	}
	if !f.plan.Short {
		return 0, err
	}
	n, werr := f.f.Write(b[:len(b)/2])
	if werr != nil {
		err = werr
	}
	return n, err
}

func (f *file) Seek(off int64, whence int) (int64, error) { return f.f.Seek(off, whence) }

func (f *file) Truncate(size int64) error {
	return f.plan.act(host.OpTruncate, f.path, func() error { return f.f.Truncate(size) })
}

func (f *file) Sync() error {
	return f.plan.act(host.OpSync, f.path, f.f.Sync)
}

func (f *file) StartWriteback() {
	if f.plan.alive() == nil {
		f.f.StartWriteback()
	}
}

func (f *file) NextData(off int64) (start, end int64, err error) {
	if err := f.plan.alive(); err != nil {
		return 0, 0, err
	}
	return f.f.NextData(off)
}
