package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/host"
)

// sparse is a file that knows its holes, as host.File does.
type sparse interface {
	io.ReaderAt
	io.Seeker
	NextData(off int64) (start, end int64, err error)
}

// onlyWriter hides every other method, so that io.Copy does not look for more.
type onlyWriter struct{ io.Writer }

func fileSize(f io.Seeker) (int64, error) {
	pos, err := f.Seek(0, io.SeekCurrent)
	if err != nil || pos != 0 {
		return 0, errors.Join(err, errors.New("the position is not the beginning"))
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return end, err
}

// staging is an object on its way into the store.
type staging struct {
	s    *Objects
	f    host.File
	path string
	hash hash.Hash
	size int64
	// failed is why it could not be written to.
	failed error
}

func (s *Objects) stage() (*staging, error) {
	for {
		s.mu.Lock()
		s.temps++
		path := fmt.Sprintf("/objects/tmp-%d", s.temps)
		s.mu.Unlock()
		f, err := s.fs.Create(path)
		if errors.Is(err, fs.ErrExist) {
			continue // a crash left it, or another process writes it
		}
		if err != nil {
			return nil, fmt.Errorf("cannot store an object: %w", err)
		}
		return &staging{s: s, f: f, path: path, hash: sha256.New()}, nil
	}
}

func (w *staging) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	w.hash.Write(b[:n])
	w.size += int64(n)
	w.failed = err
	return n, err
}

func (w *staging) copySparse(src sparse, size int64) error {
	w.size = size
	return copySparse(w.f, src, size, w.hash)
}

// abort takes the temporary away and returns err.
func (w *staging) abort(err error) error {
	closed := w.f.Close()
	removed := w.s.fs.Remove(w.path)
	if err != nil {
		return fmt.Errorf("cannot store an object: %w", err)
	}
	return errors.Join(closed, removed)
}

// commit renames the object to its final name.
func (w *staging) commit(digest string) error {
	if err := w.f.Close(); err != nil {
		_ = w.s.fs.Remove(w.path)
		return fmt.Errorf("cannot store an object: %w", err)
	}
	path, _ := objectPath(digest)
	err := w.s.fs.Rename(w.path, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.s.makeDir(objectDir(digest)); err == nil {
			err = w.s.fs.Rename(w.path, path)
		}
	}
	if err != nil {
		_ = w.s.fs.Remove(w.path)
		return fmt.Errorf("cannot store an object: %w", err)
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.known[digest], w.s.pending[digest], w.s.fresh[digest] = true, true, true
	if w.s.directories != nil {
		w.s.directories[objectDir(digest)] = true
	}
	return nil
}

// copySparse copies size bytes of src to the empty dst and keeps the holes. h receives every byte,
// including bytes of holes.
func copySparse(dst host.File, src sparse, size int64, h hash.Hash) error {
	buf := make([]byte, 256<<10)
	zeros := make([]byte, 64<<10)
	at, written := int64(0), int64(0)
	for at < size {
		start, end, err := src.NextData(at)
		if err != nil {
			return err
		}
		start, end = min(start, size), min(end, size)
		for at < start {
			n := min(start-at, int64(len(zeros)))
			h.Write(zeros[:n])
			at += n
		}
		if at == size {
			break
		}
		if end <= at {
			return fmt.Errorf("cannot copy a sparse file: no data at %d", at)
		}
		if _, err := dst.Seek(at, io.SeekStart); err != nil {
			return err
		}
		w := io.MultiWriter(h, onlyWriter{dst})
		n, err := io.CopyBuffer(onlyWriter{w}, io.NewSectionReader(src, at, end-at), buf)
		if err == nil && n < end-at {
			err = errShrunk
		}
		if err != nil {
			return err
		}
		at, written = end, end
	}
	if written < size {
		return dst.Truncate(size)
	}
	return nil
}

// errShrunk means that a file became shorter while it was read.
var errShrunk = errors.New("it got shorter while it was read")
