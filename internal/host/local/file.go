package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

// file is an open regular file. It is a bare descriptor: regular files are
// always ready, so the poller of os.File would only cost system calls.
type file struct {
	node
}

func (h *Host) newFile(fd int, path string) *file {
	return &file{node{h: h, path: path, fd: fd}}
}

func (f *file) failedIO(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s %q: %w", what, f.path, err)
}

// again repeats a system call that a signal interrupted.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f *file) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := again(func() (int, error) { return unix.Read(f.fd, b) })
	if err == nil && n == 0 {
		return 0, io.EOF
	}
	return n, f.failedIO("read", err)
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 {
		return 0, f.failedIO("read", errors.New("a negative offset"))
	}
	done := 0
	for done < len(b) {
		n, err := again(func() (int, error) { return unix.Pread(f.fd, b[done:], off+int64(done)) })
		if err != nil {
			return done, f.failedIO("read", err)
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

func (f *file) Write(b []byte) (int, error) {
	if err := f.h.op(host.OpWrite, f.path); err != nil {
		return 0, err
	}
	done := 0
	for {
		n, err := again(func() (int, error) { return unix.Write(f.fd, b[done:]) })
		done += n
		if err == nil && n == 0 && done < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil || done == len(b) {
			return done, f.failedIO("write", err)
		}
	}
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	n, err := unix.Seek(f.fd, off, whence)
	return n, f.failedIO("seek in", err)
}

func (f *file) Truncate(size int64) error {
	if err := f.h.op(host.OpTruncate, f.path); err != nil {
		return err
	}
	_, err := again(func() (int, error) { return 0, unix.Ftruncate(f.fd, size) })
	return f.failedIO("truncate", err)
}

func (f *file) Sync() error {
	if err := f.h.op(host.OpSync, f.path); err != nil || f.h.unsynced(host.OpSync, f.path) {
		return err
	}
	how := unix.Fdatasync
	if f.set {
		how, f.set = unix.Fsync, false
	}
	_, err := again(func() (int, error) { return 0, how(f.fd) })
	return f.failedIO("sync", err)
}

func (f *file) StartWriteback() {
	_ = unix.SyncFileRange(f.fd, 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// NextData keeps the file's position, which lseek would move.
func (f *file) NextData(off int64) (start, end int64, err error) {
	pos, err := unix.Seek(f.fd, 0, io.SeekCurrent)
	if err != nil {
		return 0, 0, f.failedIO("seek in", err)
	}
	start, end, err = f.nextData(off)
	_, back := unix.Seek(f.fd, pos, io.SeekStart)
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

// Close closes the descriptor once, because the number can then belong to another file.
func (f *file) Close() error {
	if f.fd < 0 {
		return f.failedIO("close", fs.ErrClosed)
	}
	fd := f.fd
	f.fd = -1
	return f.failedIO("close", unix.Close(fd))
}
