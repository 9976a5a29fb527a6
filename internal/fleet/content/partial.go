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

// maxPartial is how many beginnings of downloads a store keeps.
const maxPartial = 16

// Partial is content on its way into a store. What came stays when it is closed, and
// the next Begin goes on behind it. It is used from one goroutine.
type Partial struct {
	store   *Store
	want    fleet.Bundle
	file    host.File
	offset  int64
	settled bool // the file has its name, and is no beginning any more
}

// Begin begins, or goes on, to write content of this name. ErrBusy when somebody else
// does; ErrFull when there is no room for all of it. The caller closes what it gets.
func (s *Store) Begin(want fleet.Bundle) (*Partial, error) {
	if err := fleet.CheckDigest(want.Digest); err != nil {
		return nil, err
	}
	if want.Size < 0 || want.Size > MaxBundle {
		return nil, fmt.Errorf("cannot take content of %d bytes: %d are the most", want.Size, MaxBundle)
	}
	offset, err := s.reserve(want)
	if err != nil {
		return nil, err
	}
	p := &Partial{store: s, want: want, offset: offset}
	if p.file, err = s.fs.OpenAppend(s.partialPath(want.Digest)); err != nil {
		s.release(want.Digest, offset)
		return nil, fmt.Errorf("cannot take content: %w", err)
	}
	return p, nil
}

// reserve counts what is to come, and forgets beginnings that are too many or too long.
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
	for digest := range s.partial {
		if _, busy := s.busy[digest]; len(s.partial) >= maxPartial && digest != want.Digest && !busy {
			if err := s.forget(digest); err != nil {
				return 0, err
			}
		}
	}
	offset = s.partial[want.Digest]
	if s.used()+want.Size-offset > s.limit {
		return 0, fmt.Errorf("cannot take content of %d bytes: %w", want.Size, ErrFull)
	}
	s.busy[want.Digest] = want.Size - offset
	return offset, nil
}

// forget removes a beginning. The lock is held.
func (s *Store) forget(digest string) error {
	if err := s.fs.Remove(s.partialPath(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot take content: %w", err)
	}
	delete(s.partial, digest)
	return nil
}

// release ends the writing with so many bytes of a beginning, -1 for none.
func (s *Store) release(digest string, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, digest)
	if s.partial[digest] = offset; offset < 0 {
		delete(s.partial, digest)
	}
}

// Offset is how many bytes there are.
func (p *Partial) Offset() int64 { return p.offset }

// Write takes the next bytes. What would be more than the size that was named is an
// error, ErrWrong, and none of it is written.
func (p *Partial) Write(b []byte) (int, error) {
	if p.offset+int64(len(b)) > p.want.Size {
		return 0, fmt.Errorf("more than %d bytes came: %w", p.want.Size, ErrWrong)
	}
	n, err := p.file.Write(b)
	p.offset += int64(n)
	return n, err
}

// Restart forgets what came.
func (p *Partial) Restart() error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	p.offset = 0
	return nil
}

// Commit verifies the whole and puts it into the store, durable. When it is other
// content than was named the error is ErrWrong, and nothing of it stays.
func (p *Partial) Commit() error {
	if p.offset != p.want.Size {
		return fmt.Errorf("cannot keep %s: %d of %d bytes came", p.want.Digest, p.offset, p.want.Size)
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.file, 0, p.offset)); err != nil {
		return err
	}
	if digestText(sum.Sum(nil)) != p.want.Digest {
		return errors.Join(fmt.Errorf("cannot keep %s: %w", p.want.Digest, ErrWrong), p.Restart())
	}
	beginning := p.store.partialPath(p.want.Digest)
	err := p.store.settle(beginning, p.want)
	if err != nil {
		// If only the sync failed, the file has its name and is no beginning any more.
		if there, unread := host.Exists(p.store.fs, beginning); there || unread != nil {
			return err
		}
	}
	p.store.release(p.want.Digest, -1)
	p.settled = true
	return err
}

// Close ends the writing. After Commit it forgets nothing.
func (p *Partial) Close() error {
	err := p.file.Close()
	if !p.settled {
		p.store.release(p.want.Digest, p.offset)
	}
	return err
}

// OpenBundle opens a bundle that is in the store, parsed and verified. close frees it;
// its trees are of no use afterwards.
func OpenBundle(s *Store, want fleet.Bundle) (b *Bundle, close func() error, err error) {
	f, err := s.Open(want)
	if err != nil {
		return nil, nil, err
	}
	b, err = Parse(f, want.Size)
	if err == nil && b.info != want {
		err = fmt.Errorf("cannot open the bundle %s: %w", want.Digest, ErrWrong)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return b, f.Close, nil
}
