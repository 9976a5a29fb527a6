package fault

import (
	"context"
	"io"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Host is a host on which a Plan strikes.
type Host struct {
	host.Host
	plan *Plan
}

var (
	_ host.Host   = (*Host)(nil)
	_ host.Locker = (*Host)(nil)
)

// Wrap breaks a host as planned. Operations inside Accounts, Packages and
// Units are counted one for each call that changes something.
func Wrap(h host.Host, plan *Plan) *Host { return &Host{Host: h, plan: plan} }

// read does something that changes nothing.
func read[T any](h *Host, do func() (T, error)) (T, error) {
	if err := h.plan.alive(); err != nil {
		var none T
		return none, err
	}
	return do()
}

// write does a mutating operation.
func write[T any](p *Plan, op, path string, do func() (T, error)) (T, error) {
	if err := p.Count(op, path); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (p *Plan) act(op, path string, do func() error) error {
	if err := p.Count(op, path); err != nil {
		return err
	}
	return do()
}

// Lstat implements host.Reader.
func (h *Host) Lstat(path string) (host.Stat, error) {
	return read(h, func() (host.Stat, error) { return h.Host.Lstat(path) })
}

// ReadDir implements host.Reader.
func (h *Host) ReadDir(path string) ([]string, error) {
	return read(h, func() ([]string, error) { return h.Host.ReadDir(path) })
}

// Readlink implements host.Reader.
func (h *Host) Readlink(path string) (string, error) {
	return read(h, func() (string, error) { return h.Host.Readlink(path) })
}

// Xattrs implements host.Reader.
func (h *Host) Xattrs(path string) (map[string][]byte, error) {
	return read(h, func() (map[string][]byte, error) { return h.Host.Xattrs(path) })
}

// Attrs implements host.Reader.
func (h *Host) Attrs(path string) (uint32, error) {
	return read(h, func() (uint32, error) { return h.Host.Attrs(path) })
}

// SameMount implements host.Reader.
func (h *Host) SameMount(path string) (bool, error) {
	return read(h, func() (bool, error) { return h.Host.SameMount(path) })
}

// Open implements host.Reader.
func (h *Host) Open(path string) (host.File, error) {
	f, err := read(h, func() (host.File, error) { return h.Host.Open(path) })
	return h.file(f, path, err)
}

// OpenWrite implements host.Writer.
func (h *Host) OpenWrite(path string) (host.File, error) {
	f, err := read(h, func() (host.File, error) { return h.Host.OpenWrite(path) })
	return h.file(f, path, err)
}

// Create implements host.Writer.
func (h *Host) Create(path string) (host.File, error) {
	f, err := write(h.plan, host.OpCreate, path, func() (host.File, error) { return h.Host.Create(path) })
	return h.file(f, path, err)
}

// OpenAppend implements host.Writer.
func (h *Host) OpenAppend(path string) (host.File, error) {
	f, err := write(h.plan, host.OpAppend, path, func() (host.File, error) { return h.Host.OpenAppend(path) })
	return h.file(f, path, err)
}

// OpenNode implements host.Writer.
func (h *Host) OpenNode(path string) (host.Node, error) {
	n, err := read(h, func() (host.Node, error) { return h.Host.OpenNode(path) })
	if err != nil {
		return nil, err
	}
	return &node{Node: n, plan: h.plan, path: path}, nil
}

// Mkdir implements host.Writer.
func (h *Host) Mkdir(path string, mode uint32) error {
	return h.plan.act(host.OpMkdir, path, func() error { return h.Host.Mkdir(path, mode) })
}

// Symlink implements host.Writer.
func (h *Host) Symlink(target, path string) error {
	return h.plan.act(host.OpSymlink, path, func() error { return h.Host.Symlink(target, path) })
}

// Link implements host.Writer.
func (h *Host) Link(oldpath, newpath string) error {
	return h.plan.act(host.OpLink, newpath, func() error { return h.Host.Link(oldpath, newpath) })
}

// Mknod implements host.Writer.
func (h *Host) Mknod(path string, typ image.FileType, mode uint32, rdev uint64) error {
	return h.plan.act(host.OpMknod, path, func() error { return h.Host.Mknod(path, typ, mode, rdev) })
}

// Rename implements host.Writer.
func (h *Host) Rename(oldpath, newpath string) error {
	return h.plan.act(host.OpRename, newpath, func() error { return h.Host.Rename(oldpath, newpath) })
}

// RenameNew implements host.Writer.
func (h *Host) RenameNew(oldpath, newpath string) error {
	return h.plan.act(host.OpRenameNew, newpath, func() error { return h.Host.RenameNew(oldpath, newpath) })
}

// Remove implements host.Writer.
func (h *Host) Remove(path string) error {
	return h.plan.act(host.OpRemove, path, func() error { return h.Host.Remove(path) })
}

// SyncDir implements host.Writer.
func (h *Host) SyncDir(path string) error {
	return h.plan.act(host.OpSyncDir, path, func() error { return h.Host.SyncDir(path) })
}

// SyncFS implements host.Writer.
func (h *Host) SyncFS(path string) error {
	return h.plan.act(host.OpSyncFS, path, func() error { return h.Host.SyncFS(path) })
}

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, c host.Command) (host.CommandResult, error) {
	do := func() (host.CommandResult, error) { return h.Host.Run(ctx, c) }
	if !c.Mutates || len(c.Argv) == 0 {
		return read(h, do)
	}
	return write(h.plan, host.OpRun, c.Argv[0], do)
}

// Lock implements host.Locker where the host does.
func (h *Host) Lock(path, holder string) (io.Closer, error) {
	l, ok := h.Host.(host.Locker)
	if !ok {
		return nil, host.ErrUnsupported
	}
	return read(h, func() (io.Closer, error) { return l.Lock(path, holder) })
}

// Holder implements host.Locker where the host does.
func (h *Host) Holder(path string) (string, error) {
	l, ok := h.Host.(host.Locker)
	if !ok {
		return "", host.ErrUnsupported
	}
	return read(h, func() (string, error) { return l.Holder(path) })
}
