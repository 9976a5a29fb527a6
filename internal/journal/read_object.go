package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"fettle.dev/fettle/internal/host"
)

// maxReadObject is the most that ReadObject takes into memory, in bytes.
const maxReadObject = 64 << 20

// DamagedError means that an object's content does not match its name.
type DamagedError struct{ Digest string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf(
		"cannot use object %s: its content is damaged; check the disk, and restore the object from a backup", e.Digest)
}

// Open opens an object. A damaged object returns a *DamagedError instead of io.EOF: its content
// must not be used. The caller must close the reader.
func (s *Objects) Open(digest string) (io.ReadCloser, int64, error) {
	if r, ok, err := s.openPacked(digest); err != nil {
		return nil, 0, err
	} else if ok {
		return &objectReader{f: io.NopCloser(r), hash: sha256.New(), digest: digest}, r.Size(), nil
	}
	f, size, err := s.openObject(digest)
	if err != nil {
		return nil, 0, err
	}
	return &objectReader{f: f, hash: sha256.New(), digest: digest}, size, nil
}

func (s *Objects) openObject(digest string) (host.File, int64, error) {
	p, ok := objectPath(digest)
	if !ok {
		return nil, 0, fmt.Errorf("cannot open object %q: its name is not sha256: and 64 hex digits", digest)
	}
	f, err := s.fs.Open(p)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot open object %s: %w", digest, err)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size, nil
}

type objectReader struct {
	f      io.ReadCloser
	hash   hash.Hash
	digest string
}

func (r *objectReader) Read(b []byte) (int, error) {
	n, err := r.f.Read(b)
	r.hash.Write(b[:n])
	if errors.Is(err, io.EOF) && named(r.hash.Sum(nil)) != r.digest {
		err = &DamagedError{Digest: r.digest}
	}
	return n, err
}

func (r *objectReader) Close() error { return r.f.Close() }

// ReadObject returns the verified content of an object of at most 64 MiB.
func (s *Objects) ReadObject(digest string) ([]byte, error) {
	r, size, err := s.Open(digest)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxReadObject {
		return nil, fmt.Errorf("cannot read object %s into memory: it has %d bytes, and the limit is %d", digest, size,
			maxReadObject)
	}
	b := make([]byte, 0, size+1)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// Verify reads an object to its end and checks its content.
func (s *Objects) Verify(digest string) error {
	r, _, err := s.Open(digest)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// CopyTo writes an object into dst, an empty file at its beginning, and keeps
// its holes. After an error dst must not be used: it may hold wrong bytes.
func (s *Objects) CopyTo(digest string, dst host.File) error {
	if r, ok, err := s.openPacked(digest); err != nil || ok {
		return copyPacked(digest, dst, r, err)
	}
	f, size, err := s.openObject(digest)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if err := copySparse(dst, f, size, h); err != nil {
		return fmt.Errorf("cannot copy object %s: %w", digest, err)
	}
	if named(h.Sum(nil)) != digest {
		return &DamagedError{Digest: digest}
	}
	return nil
}

func copyPacked(digest string, dst host.File, r *io.SectionReader, err error) error {
	if err != nil {
		return err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("cannot copy object %s: %w", digest, err)
	}
	if DigestOf(b) != digest {
		return &DamagedError{Digest: digest}
	}
	_, err = dst.Write(b)
	return err
}
