package journal

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ResumableReader is a reader of remote content that can fail in the middle. The content until then is
// kept for the next attempt: see Store.OpenPartial.
type ResumableReader interface {
	io.Reader
	// ExpectedDigest returns the digest of the complete content.
	ExpectedDigest() string
}

// partialPrefix is the prefix of files with the beginning of an object. Collect treats them as remains
// of a crash and removes them.
const partialPrefix = "/objects/tmp-part-"

func partialPath(digest string) (string, bool) {
	_, ok := objectPath(digest)
	return partialPrefix + strings.TrimPrefix(digest, "sha256:"), ok
}

// OpenPartial returns the beginning of content whose transfer failed, and its length in bytes; ok is false
// if there is none. It can be damaged, because it was neither synced nor checked. The caller must
// close the reader.
func (s *Objects) OpenPartial(digest string) (r io.ReadCloser, size int64, ok bool) {
	path, ok := partialPath(digest)
	if !ok {
		return nil, 0, false
	}
	f, err := s.fs.Open(path)
	if err != nil {
		return nil, 0, false
	}
	if size, err = fileSize(f); err != nil || size == 0 {
		_ = f.Close()
		return nil, 0, false
	}
	return f, size, true
}

// SavePartial stores the content of r as the beginning of an object, and replaces any other beginning:
// there is at most one. The caller must hold the lock.
func (s *Objects) SavePartial(digest string, r io.Reader) error {
	w, err := s.stage()
	if err != nil {
		return err
	}
	if _, err := io.Copy(onlyWriter{w}, r); err != nil {
		return w.abort(err)
	}
	return w.leave(digest)
}

// leave has the temporary stay as the beginning of content.
func (w *staging) leave(digest string) error {
	path, ok := partialPath(digest)
	err := w.f.Close()
	if err == nil && !ok {
		err = errors.New("it has no digest")
	}
	if err == nil {
		err = w.s.dropPartials()
	}
	if err == nil {
		err = w.s.fs.Rename(w.path, path)
	}
	if err != nil {
		_ = w.s.fs.Remove(w.path)
		return fmt.Errorf("cannot store a part of an object: %w", err)
	}
	return nil
}

// DropPartial forgets the beginning of content, if there is one.
func (s *Objects) DropPartial(digest string) {
	if path, ok := partialPath(digest); ok {
		_ = s.fs.Remove(path)
	}
}

// dropPartials removes every beginning that is kept.
func (s *Objects) dropPartials() error {
	names, err := s.fs.ReadDir("/objects")
	if err != nil {
		return err
	}
	for _, name := range names {
		if p := "/objects/" + name; strings.HasPrefix(p, partialPrefix) {
			if err := s.fs.Remove(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// brokeOff stores the received content after r failed with err. If that is not possible, it removes
// an older part, which is useless or occupies space.
func (w *staging) brokeOff(r io.Reader, err error) error {
	b, ok := r.(ResumableReader)
	if ok && w.failed == nil && w.leave(b.ExpectedDigest()) == nil {
		return fmt.Errorf("cannot store an object: %w", err)
	}
	if ok {
		w.s.DropPartial(b.ExpectedDigest())
	}
	return w.abort(err)
}
