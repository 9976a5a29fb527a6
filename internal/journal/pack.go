package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/host"
)

// Packs store many small objects in one file, so that a run that changes ten thousand files does
// not create ten thousand more. A process writes its own packs and never appends to an existing
// pack.
//
//	/packs/000003.pack   "FETTLEPACK1\n"  record*
//	record               length u32  sha256 [32]  content        (little endian)
//	/packs/000003.idx    "FETTLEINDX1\n"  size of the pack u64  (sha256 [32]  offset u64  length u32)*  crc32c u32
//
// The index saves reading the pack. If it is missing, damaged or for another size, it is created
// again from the pack. The pack ends before the first record that does not match its checksum,
// which a crash cut short.
const (
	packMagic  = "FETTLEPACK1\n"
	indexMagic = "FETTLEINDX1\n"
	// packed is the maximum size of content in a pack, in bytes: files that fit into memory, and
	// the lists and plans of large runs.
	packed     = 16 << 20
	packHeader = 4 + sha256.Size
	indexEntry = sha256.Size + 12
	// packBuffer is how much is gathered before it is written, in bytes.
	packBuffer = 1 << 20
)

func packPath(n int) string  { return fmt.Sprintf("%s/%06d.pack", packDir, n) }
func indexPath(n int) string { return fmt.Sprintf("%s/%06d.idx", packDir, n) }

// Pack switches between storing small objects in packs and in separate files. Packs are for runs
// that store many objects.
func (s *Objects) Pack(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs.on = on
}

// load reads the indexes of all packs, once. The newest place of an object wins.
func (s *Objects) loadPacks() error {
	p := &s.packs
	if p.loaded {
		return nil
	}
	if p.at == nil {
		p.at, p.files = map[string]place{}, map[int]host.File{}
	}
	names, err := s.fs.ReadDir(packDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot list the packs: %w", err)
	}
	for _, name := range names {
		n, err := strconv.Atoi(strings.TrimSuffix(name, ".pack"))
		if err != nil || path.Ext(name) != ".pack" {
			continue
		}
		p.last = max(p.last, n)
		entries, err := s.packIndex(n)
		if err != nil {
			return err
		}
		for digest, pl := range entries {
			p.at[digest] = pl
		}
	}
	p.loaded = true
	return nil
}

// packIndex returns the content of a pack: from its index, or by reading the pack.
func (s *Objects) packIndex(n int) (map[string]place, error) {
	st, err := s.fs.Lstat(packPath(n))
	if err != nil {
		return nil, fmt.Errorf("cannot examine pack %d: %w", n, err)
	}
	if b, err := s.readAll(indexPath(n), 1<<30); err == nil {
		if entries, ok := decodeIndex(b, n, st.Size); ok {
			return entries, nil
		}
	}
	return s.scanPack(n)
}

func decodeIndex(b []byte, n int, size int64) (map[string]place, bool) {
	le := binary.LittleEndian
	head := len(indexMagic) + 8
	if len(b) < head+4 || string(b[:len(indexMagic)]) != indexMagic || (len(b)-head-4)%indexEntry != 0 {
		return nil, false
	}
	body := b[:len(b)-4]
	if le.Uint32(b[len(b)-4:]) != crc32.Checksum(body, castagnoli()) || int64(le.Uint64(b[len(indexMagic):])) != size {
		return nil, false
	}
	out := make(map[string]place, len(body)/indexEntry)
	for e := body[head:]; len(e) > 0; e = e[indexEntry:] {
		off, length := int64(le.Uint64(e[sha256.Size:])), int(le.Uint32(e[sha256.Size+8:]))
		if off < 0 || off+int64(length) > size {
			return nil, false
		}
		out[named(e[:sha256.Size])] = place{n, off, length}
	}
	return out, true
}

// scanPack reads a pack up to the first record that is not whole.
func (s *Objects) scanPack(n int) (map[string]place, error) {
	out := map[string]place{}
	b, err := s.readAll(packPath(n), 1<<32)
	if err != nil {
		return nil, fmt.Errorf("cannot read pack %d: %w", n, err)
	}
	if !bytes.HasPrefix(b, []byte(packMagic)) {
		return out, nil
	}
	for at := len(packMagic); at+packHeader <= len(b); {
		length := int(binary.LittleEndian.Uint32(b[at:]))
		start := at + packHeader
		if length > packed || start+length > len(b) {
			break
		}
		sum := sha256.Sum256(b[start : start+length])
		if !bytes.Equal(sum[:], b[at+4:start]) {
			break
		}
		out[named(sum[:])] = place{n, int64(start), length}
		at = start + length
	}
	return out, nil
}

// putPacked adds an object to the current pack. The mutex is held.
func (s *Objects) putPacked(digest string, b []byte) error {
	w, err := s.packWriter()
	if err != nil {
		return err
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil {
		return err
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(b)))
	w.buf = append(w.buf, sum...)
	if was, ok := s.packs.at[digest]; ok && was.pack != w.number {
		w.moved[digest] = was
	}
	s.packs.at[digest] = place{w.number, w.written + int64(len(w.buf)), len(b)}
	w.digests, w.unsynced = append(w.digests, digest), append(w.unsynced, digest)
	s.known[digest], s.pending[digest], s.fresh[digest] = true, true, true
	if len(b) < packBuffer {
		if w.buf = append(w.buf, b...); len(w.buf) < packBuffer {
			return nil
		}
		return s.flushPack()
	}
	if err := s.flushPack(); err != nil {
		return err
	}
	return s.writePack(b)
}

// packWriter is the current pack, made when there is none.
func (s *Objects) packWriter() (*packWriter, error) {
	if err := s.loadPacks(); err != nil {
		return nil, err
	}
	p := &s.packs
	if p.cur != nil {
		return p.cur, nil
	}
	if err := s.makeDir(packDir); err != nil {
		return nil, fmt.Errorf("cannot make a pack: %w", err)
	}
	for {
		p.last++
		f, err := s.fs.Create(packPath(p.last))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot make a pack: %w", err)
		}
		p.cur = &packWriter{number: p.last, f: f, buf: []byte(packMagic), moved: map[string]place{}}
		return p.cur, nil
	}
}

// flushPack writes the buffer to the file.
func (s *Objects) flushPack() error {
	w := s.packs.cur
	if w == nil || len(w.buf) == 0 {
		return nil
	}
	err := s.writePack(w.buf)
	w.buf = w.buf[:0]
	return err
}

// writePack writes to the end of the current pack. After an error, the pack and its unsynced
// content are dropped.
func (s *Objects) writePack(b []byte) error {
	w := s.packs.cur
	n, err := w.f.Write(b)
	w.written += int64(n)
	if err != nil {
		s.dropPack()
		s.packs.broken = fmt.Errorf("cannot write a pack: %w", err)
		return s.packs.broken
	}
	return nil
}

// syncPack makes the current pack durable and writes its index.
func (s *Objects) syncPack() error {
	w := s.packs.cur
	if w == nil || len(w.unsynced) == 0 {
		return nil
	}
	if err := s.flushPack(); err != nil {
		return err
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	if !w.named {
		if err := errors.Join(s.fs.SyncDir(packDir), s.fs.SyncDir("/")); err != nil {
			return err
		}
		w.named = true
	}
	w.unsynced = nil
	clear(w.moved)
	s.writeIndex(w) // failing to costs only time
	return nil
}

func (s *Objects) writeIndex(w *packWriter) {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte(indexMagic), uint64(w.written))
	for _, digest := range w.digests {
		pl := s.packs.at[digest]
		b, _ = hex.AppendDecode(b, []byte(strings.TrimPrefix(digest, "sha256:"))) // put before, so it has no error
		b = le.AppendUint64(b, uint64(pl.offset))
		b = le.AppendUint32(b, uint32(pl.length))
	}
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	_ = s.fs.Remove(indexPath(w.number))
	f, err := s.fs.Create(indexPath(w.number))
	if err != nil {
		return
	}
	_, _ = f.Write(b)
	_ = f.Close()
}

// dropPack drops the current pack and forgets its unsynced objects.
func (s *Objects) dropPack() {
	w := s.packs.cur
	if w == nil {
		return
	}
	for _, digest := range w.unsynced {
		delete(s.packs.at, digest)
		delete(s.known, digest)
		delete(s.pending, digest)
		delete(s.fresh, digest)
	}
	maps.Copy(s.packs.at, w.moved)
	_ = w.f.Close()
	s.packs.cur = nil
}

// openPacked opens an object in a pack; ok is false when no pack has it.
func (s *Objects) openPacked(digest string) (r *io.SectionReader, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.loadPacks(); err != nil {
		return nil, false, err
	}
	pl, ok := s.packs.at[digest]
	if !ok {
		return nil, false, nil
	}
	if w := s.packs.cur; w != nil && w.number == pl.pack && pl.offset+int64(pl.length) > w.written {
		if err := s.flushPack(); err != nil {
			return nil, false, err
		}
	}
	f, open := s.packs.files[pl.pack]
	if !open {
		if f, err = s.fs.Open(packPath(pl.pack)); err != nil {
			return nil, false, fmt.Errorf("cannot open object %s: %w", digest, err)
		}
		s.packs.files[pl.pack] = f
	}
	return io.NewSectionReader(f, pl.offset, int64(pl.length)), true, nil
}

// hasPacked reports whether a pack has the object. The caller must hold the mutex.
func (s *Objects) hasPacked(digest string) bool {
	if s.loadPacks() != nil {
		return false
	}
	_, ok := s.packs.at[digest]
	return ok
}
