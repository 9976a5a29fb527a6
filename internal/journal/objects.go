package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/image"
)

// smallObject is the size up to which content is held in memory before its
// name is known, in bytes.
const smallObject = 1 << 20

// Put stores the content of r, only once even if it is put again, and keeps the holes of a sparse
// host.File. The object is not durable before SyncObjects. After an error nothing is stored, except
// the partial object of a ResumableReader r.
func (s *Objects) Put(r io.Reader) (digest string, size int64, err error) {
	if f, ok := r.(sparse); ok {
		if end, err := fileSize(f); err == nil && end > smallObject {
			return s.putLarge(r, func(w *staging) error { return w.copySparse(f, end) })
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, smallObject+1))
	if err != nil {
		return "", 0, fmt.Errorf("cannot store content: %w", err)
	}
	if len(head) <= smallObject {
		digest, err = s.PutBytes(head)
		return digest, int64(len(head)), err
	}
	return s.putLarge(r, func(w *staging) error {
		_, err := io.Copy(onlyWriter{w}, io.MultiReader(bytes.NewReader(head), r))
		return err
	})
}

// PutBytes is Put of content in memory, which is not kept.
func (s *Objects) PutBytes(b []byte) (string, error) {
	digest := DigestOf(b)
	if s.trusted(digest, int64(len(b))) {
		return digest, nil
	}
	s.mu.Lock()
	if s.packs.on && len(b) <= packed {
		err := s.putPacked(digest, b)
		s.mu.Unlock()
		return digest, err
	}
	s.mu.Unlock()
	w, err := s.stage()
	if err != nil {
		return "", err
	}
	if _, err := w.f.Write(b); err != nil {
		return "", w.abort(err)
	}
	return digest, w.commit(digest)
}

// putLarge learns the name of content while it is written, with fill from r.
func (s *Objects) putLarge(r io.Reader, fill func(*staging) error) (string, int64, error) {
	w, err := s.stage()
	if err != nil {
		return "", 0, err
	}
	if err := fill(w); err != nil {
		return "", 0, w.brokeOff(r, err)
	}
	if b, ok := r.(ResumableReader); ok {
		s.DropPartial(b.ExpectedDigest()) // it is complete, or the content differs
	}
	digest := named(w.hash.Sum(nil))
	if s.trusted(digest, w.size) {
		if err := w.abort(nil); err != nil {
			return "", 0, err
		}
		return digest, w.size, nil
	}
	w.f.StartWriteback()
	return digest, w.size, w.commit(digest)
}

// Has reports whether an object exists. It checks only the name.
func (s *Objects) Has(digest string) bool {
	p, ok := objectPath(digest)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[digest] || s.hasPacked(digest) {
		return true
	}
	st, err := s.fs.Lstat(p)
	return err == nil && st.Type == image.Regular
}

// trusted reports whether an object exists and is valid, so that it need not be written again. An
// object that this process did not write is read, because after a crash a name can exist without
// its content. The object is then synced with the next batch, because the process that wrote it may
// not have done so.
func (s *Objects) trusted(digest string, size int64) bool {
	s.mu.Lock()
	ok := s.known[digest]
	if ok {
		s.fresh[digest] = true
	}
	s.mu.Unlock()
	if ok {
		return true
	}
	if !s.sound(digest, size) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[digest] {
		s.known[digest], s.pending[digest] = true, false
	}
	s.fresh[digest] = true
	return true
}

// sound reads an object of an earlier process.
func (s *Objects) sound(digest string, size int64) bool {
	s.mu.Lock()
	inPack := s.hasPacked(digest)
	s.mu.Unlock()
	if !inPack {
		if !s.hasDirectory(digest) {
			return false
		}
		p, _ := objectPath(digest)
		if st, err := s.fs.Lstat(p); err != nil || st.Type != image.Regular || st.Size != size {
			return false
		}
	}
	return s.Verify(digest) == nil
}

// hasDirectory reports whether the directory of an object in a separate file exists. For new content
// it usually does not exist, and each lookup of such a file would cost as much as a successful one.
// This Store created the directory, or it existed before. If another process has created it since,
// the only cost is that content is stored twice.
func (s *Objects) hasDirectory(digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.directories == nil {
		names, err := s.fs.ReadDir("/objects")
		if err != nil {
			return true // the lookup decides
		}
		s.directories = map[string]bool{}
		for _, n := range names {
			s.directories["/objects/"+n] = true
		}
	}
	return s.directories[objectDir(digest)]
}

// SyncObjects makes every object put so far durable. When that fails, the
// objects of the batch are removed and forgotten: a second sync could succeed
// without having written anything. Put them again.
func (s *Objects) SyncObjects() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.packs.broken; err != nil {
		s.packs.broken = nil
		return fmt.Errorf("cannot make the objects durable; store them again: %w", err)
	}
	if len(s.pending) == 0 {
		return nil
	}
	if err := s.syncPending(); err != nil {
		s.dropPack()
		s.packs.broken = nil // reported here
		for digest, ours := range s.pending {
			if p, _ := objectPath(digest); ours && !s.hasPacked(digest) {
				_ = s.fs.Remove(p)
			}
			delete(s.known, digest)
			delete(s.fresh, digest)
		}
		clear(s.pending)
		return fmt.Errorf("cannot make the objects durable; no object of this batch was stored: %w", err)
	}
	for digest := range s.pending {
		if s.hasPacked(digest) {
			continue
		}
		s.rooted[objectDir(digest)] = true
	}
	clear(s.pending)
	return nil
}

// manyObjects is the number of objects from which on one sync of the whole file
// system is cheaper than one of each.
const manyObjects = 16

func (s *Objects) syncPending() error {
	if err := s.syncPack(); err != nil {
		return err
	}
	dirs := map[string]bool{}
	loose := make([]string, 0, len(s.pending))
	for _, digest := range slices.Sorted(maps.Keys(s.pending)) {
		pl, inPack := s.packs.at[digest]
		if !inPack {
			loose = append(loose, digest)
		} else if s.packs.cur == nil || pl.pack != s.packs.cur.number {
			dirs[packDir] = true // of an earlier process, which may not have synced it
		}
	}
	if len(loose) >= manyObjects || dirs[packDir] {
		return s.fs.SyncFS("/objects")
	}
	for _, digest := range loose {
		p, _ := objectPath(digest)
		if err := s.syncFile(p); err != nil {
			return err
		}
		dirs[objectDir(digest)] = true
	}
	unrooted := false
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		if err := s.fs.SyncDir(d); err != nil {
			return err
		}
		unrooted = unrooted || !s.rooted[d]
	}
	if unrooted {
		return s.fs.SyncDir("/objects")
	}
	return nil
}

func (s *Objects) syncFile(path string) error {
	f, err := s.fs.OpenWrite(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
