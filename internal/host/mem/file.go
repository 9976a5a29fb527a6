package mem

import (
	"io"

	"fettle.dev/fettle/internal/host"
)

// maxSize limits the allocation after a wrong offset.
const maxSize = 1 << 32

// file is an open regular file.
type file struct {
	node
	writable, appends bool
	pos               int64
}

func (f *file) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.pos)
	f.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	switch {
	case f.closed:
		return 0, failed("read", f.path, errBadFile)
	case off < 0:
		return 0, failed("read", f.path, errInvalid)
	case off >= int64(len(f.n.data)):
		if len(b) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, f.n.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// change counts an operation on the content and does it under the lock.
func (f *file) change(op, what string, do func() error) error {
	if err := f.fs.op(op, f.path); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed || !f.writable {
		return failed(what, f.path, errBadFile)
	}
	if err := do(); err != nil {
		return failed(what, f.path, err)
	}
	f.n.mtime = f.fs.now()
	f.n.ctime = f.n.mtime
	return nil
}

func (f *file) Write(b []byte) (n int, err error) {
	err = f.change(host.OpWrite, "write", func() error {
		if f.appends {
			f.pos = int64(len(f.n.data))
		}
		if f.pos+int64(len(b)) > maxSize {
			return errInvalid
		}
		f.n.write(f.pos, b)
		f.pos += int64(len(b))
		n = len(b)
		return nil
	})
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.change(host.OpTruncate, "truncate", func() error {
		if size < 0 || size > maxSize {
			return errInvalid
		}
		f.n.truncate(size)
		return nil
	})
}

func (f *file) Seek(off int64, whence int) (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		off += f.pos
	case io.SeekEnd:
		off += int64(len(f.n.data))
	}
	if f.closed || off < 0 {
		return f.pos, failed("seek in", f.path, errInvalid)
	}
	f.pos = off
	return off, nil
}

func (f *file) Sync() error {
	failure := f.fs.op(host.OpSync, f.path)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if failure != nil {
		f.n.content.lose()
		return failure
	}
	if f.closed {
		return failed("sync", f.path, errBadFile)
	}
	f.n.content.sync()
	if f.dirty {
		f.n.stable, f.dirty = f.n.meta, false
	}
	return nil
}

func (f *file) StartWriteback() {}

// NextData knows holes in blocks of 4 KiB of zeroes.
func (f *file) NextData(off int64) (start, end int64, err error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed || off < 0 {
		return 0, 0, failed("seek in", f.path, errInvalid)
	}
	start, end = f.n.nextData(off)
	return start, end, nil
}
