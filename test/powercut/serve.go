package powercut

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The descriptors that a disk's process inherits.
const (
	contentFD = 3
	logFD     = 4
)

// serveDisk serves a disk at dir until it is unmounted. It must run in a process that never uses the
// mounted disk: such a process could wait for itself and could not be killed.
func serveDisk(dir string) error {
	d := &served{content: os.NewFile(contentFD, "content"), log: os.NewFile(logFD, "log")}
	st, err := d.content.Stat()
	if err != nil {
		return err
	}
	d.size = uint64(st.Size())
	opts := &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true, MaxWrite: 1 << 17, FsName: "disk",
		Name: "fettle"}}
	server, err := fs.Mount(dir, &diskRoot{d: d}, opts)
	if err != nil {
		return fmt.Errorf("cannot serve a disk at %s: %w", dir, err)
	}
	fmt.Println("ready")
	server.Wait()
	return nil
}

type diskRoot struct {
	fs.Inode
	d *served
}

func (r *diskRoot) OnAdd(ctx context.Context) {
	r.AddChild("disk", r.NewPersistentInode(ctx, r.d, fs.StableAttr{Mode: syscall.S_IFREG}), false)
}

// served is the one file of the file system.
type served struct {
	fs.Inode
	size uint64

	mu      sync.Mutex // orders the log as the content
	content *os.File
	log     *os.File
}

var (
	_ fs.NodeOnAdder   = (*diskRoot)(nil)
	_ fs.NodeOpener    = (*served)(nil)
	_ fs.NodeReader    = (*served)(nil)
	_ fs.NodeWriter    = (*served)(nil)
	_ fs.NodeFsyncer   = (*served)(nil)
	_ fs.NodeGetattrer = (*served)(nil)
	_ fs.NodeSetattrer = (*served)(nil)
	_ fs.NodeAllocater = (*served)(nil)
)

func (d *served) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (d *served) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size, out.Blksize = 0o600, d.size, Block
	return 0
}

func (d *served) Setattr(ctx context.Context, fh fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, fh, out)
}

func (d *served) Read(_ context.Context, _ fs.FileHandle, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, err := d.content.ReadAt(p, off)
	if n == 0 && err != nil && uint64(off) < d.size {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(p[:n]), 0
}

func (d *served) Write(_ context.Context, _ fs.FileHandle, p []byte, off int64) (uint32, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.content.WriteAt(p, off); err != nil {
		return 0, fs.ToErrno(err)
	}
	return uint32(len(p)), d.record(opWrite, off, int64(len(p)), p)
}

// Allocate is how discarded and zeroed ranges arrive: as holes.
func (d *served) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	if mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) == 0 {
		return syscall.EOPNOTSUPP
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := punch(d.content, int64(off), int64(size)); err != nil {
		return fs.ToErrno(err)
	}
	return d.record(opZero, int64(off), int64(size), nil)
}

func (d *served) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.record(opFlush, 0, 0, nil)
}

// record appends one entry with one system call, so that readers of the log never see a partial entry.
func (d *served) record(op byte, off, n int64, data []byte) syscall.Errno {
	b := make([]byte, recordHead, recordHead+len(data))
	b[0] = op
	binary.LittleEndian.PutUint64(b[1:], uint64(off))
	binary.LittleEndian.PutUint64(b[9:], uint64(n))
	_, err := d.log.Write(append(b, data...))
	return fs.ToErrno(err)
}

func punch(f *os.File, off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}
