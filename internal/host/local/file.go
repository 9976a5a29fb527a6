package local

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// file is an open regular file.
type file struct {
	node
	f *os.File
}

func (h *Host) newFile(fd int, path string) *file {
	return &file{node: node{h: h, path: path, fd: fd}, f: os.NewFile(uintptr(fd), path)}
}

// failedIO strips what os adds, and lets io.EOF through as readers expect it.
func (f *file) failedIO(what string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("cannot %s %q: %w", what, f.path, err)
}

func (f *file) Read(b []byte) (int, error) {
	n, err := f.f.Read(b)
	return n, f.failedIO("read", err)
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(b, off)
	return n, f.failedIO("read", err)
}

func (f *file) Write(b []byte) (int, error) {
	if err := f.h.op(host.OpWrite, f.path); err != nil {
		return 0, err
	}
	n, err := f.f.Write(b)
	return n, f.failedIO("write", err)
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	n, err := f.f.Seek(off, whence)
	return n, f.failedIO("seek in", err)
}

func (f *file) Truncate(size int64) error {
	if err := f.h.op(host.OpTruncate, f.path); err != nil {
		return err
	}
	return f.failedIO("truncate", f.f.Truncate(size))
}

func (f *file) Sync() error {
	if err := f.h.op(host.OpSync, f.path); err != nil || f.h.unsynced(host.OpSync, f.path) {
		return err
	}
	how := unix.Fdatasync
	if f.set {
		how, f.set = unix.Fsync, false
	}
	for {
		if err := how(f.fd); err != unix.EINTR {
			return f.failedIO("sync", err)
		}
	}
}

func (f *file) StartWriteback() {
	_ = unix.SyncFileRange(f.fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// NextData keeps the file's position, which lseek would move.
func (f *file) NextData(off int64) (start, end int64, err error) {
	pos, err := f.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, 0, f.failedIO("seek in", err)
	}
	start, end, err = f.nextData(off)
	_, back := f.f.Seek(pos, io.SeekStart)
	return start, end, f.failedIO("seek in", errors.Join(err, back))
}

func (f *file) nextData(off int64) (start, end int64, err error) {
	size, err := unix.Seek(f.fd, 0, unix.SEEK_END)
	if err != nil || off >= size {
		return size, size, err
	}
	start, err = unix.Seek(f.fd, off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL):
		return off, size, nil
	case err != nil:
		return 0, 0, err
	}
	end, err = unix.Seek(f.fd, start, unix.SEEK_HOLE)
	return start, end, err
}

func (f *file) Close() error { return f.failedIO("close", f.f.Close()) }
