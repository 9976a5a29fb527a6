package content

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host"
)

// maxPartial is the maximum number of partial downloads in a store.
const maxPartial = 16

// Partial is a download into a store. Received bytes are kept when it is closed, and the next Begin
// continues after them. It must be used from one goroutine.
type Partial struct {
	store   *Store
	want    fleet.Bundle
	file    host.File
	offset  int64
	settled bool // the file has its final name
}

// Begin begins or continues a download. The error is ErrBusy during another download of the same
// content, and ErrFull if there is not enough room. The caller must close the result.
func (s *Store) Begin(want fleet.Bundle) (*Partial, error) {
	if err := fleet.CheckDigest(want.Digest); err != nil {
		return nil, err
	}
	if want.Size < 0 || want.Size > MaxBundle {
		return nil, fmt.Errorf("cannot store content of %d bytes: the maximum is %d", want.Size, MaxBundle)
	}
	offset, err := s.reserve(want)
	if err != nil {
		return nil, err
	}
	p := &Partial{store: s, want: want, offset: offset}
	if p.file, err = s.fs.OpenAppend(s.partialPath(want.Digest)); err != nil {
		s.release(want.Digest, offset)
		return nil, fmt.Errorf("cannot store content: %w", err)
	}
	return p, nil
}

// reserve reserves the missing bytes. It removes a partial download that is longer than its content, and
// others if a new one would exceed maxPartial.
func (s *Store) reserve(want fleet.Bundle) (offset int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.busy[want.Digest]; busy {
		return 0, ErrBusy
	}
	if s.partial[want.Digest] > want.Size {
		if err := s.forget(want.Digest); err != nil {
			return 0, err
		}
	}
	_, resumed := s.partial[want.Digest]
	for digest := range s.partial {
		if _, busy := s.busy[digest]; len(s.partial) >= maxPartial && !resumed && !busy {
			if err := s.forget(digest); err != nil {
				return 0, err
			}
		}
	}
	offset = s.partial[want.Digest]
	if s.used()+want.Size-offset > s.limit {
		return 0, fmt.Errorf("cannot store content of %d bytes: %w", want.Size, ErrFull)
	}
	s.busy[want.Digest] = want.Size - offset
	return offset, nil
}

// forget removes a partial download. It must be called with the lock held.
func (s *Store) forget(digest string) error {
	if err := s.fs.Remove(s.partialPath(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot store content: %w", err)
	}
	delete(s.partial, digest)
	return nil
}

// release ends a download that keeps a partial file of offset bytes, -1 for none.
func (s *Store) release(digest string, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, digest)
	if s.partial[digest] = offset; offset < 0 {
		delete(s.partial, digest)
	}
}

// Offset returns the number of received bytes.
func (p *Partial) Offset() int64 { return p.offset }

// Write appends bytes. If they exceed the expected size, it writes nothing and returns ErrDigestMismatch.
func (p *Partial) Write(b []byte) (int, error) {
	if p.offset+int64(len(b)) > p.want.Size {
		return 0, fmt.Errorf("more than %d bytes arrived: %w", p.want.Size, ErrDigestMismatch)
	}
	n, err := p.file.Write(b)
	p.offset += int64(n)
	return n, err
}

// Restart discards the received bytes.
func (p *Partial) Restart() error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	p.offset = 0
	return nil
}

// Commit verifies the content and stores it durably. If its digest is wrong, the error is ErrDigestMismatch,
// and the received bytes are discarded.
func (p *Partial) Commit() error {
	if p.offset != p.want.Size {
		return fmt.Errorf("cannot store %s: %d of %d bytes arrived", p.want.Digest, p.offset, p.want.Size)
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.file, 0, p.offset)); err != nil {
		return err
	}
	if digestText(sum.Sum(nil)) != p.want.Digest {
		return errors.Join(fmt.Errorf("cannot store %s: %w", p.want.Digest, ErrDigestMismatch), p.Restart())
	}
	beginning := p.store.partialPath(p.want.Digest)
	err := p.store.settle(beginning, p.want)
	if err != nil {
		// If only the sync failed, the file already has its final name.
		if there, unread := host.Exists(p.store.fs, beginning); there || unread != nil {
			return err
		}
	}
	p.store.release(p.want.Digest, -1)
	p.settled = true
	return err
}

// Close ends the download. The received bytes are kept.
func (p *Partial) Close() error {
	err := p.file.Close()
	if !p.settled {
		p.store.release(p.want.Digest, p.offset)
	}
	return err
}

// OpenBundle opens a stored bundle, parsed and verified. After close, its trees cannot be used.
func OpenBundle(s *Store, want fleet.Bundle) (b *Bundle, close func() error, err error) {
	f, err := s.Open(want)
	if err != nil {
		return nil, nil, err
	}
	b, err = Parse(f, want.Size)
	if err == nil && b.info != want {
		err = fmt.Errorf("cannot open the bundle %s: %w", want.Digest, ErrDigestMismatch)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return b, f.Close, nil
}
