package content

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host"
)

// Errors of a store that callers handle.
var (
	// ErrFull means that the limit is reached: Collect makes room, or the limit is too low.
	ErrFull = errors.New("the store of content is full")
	// ErrBusy means that another goroutine is writing the same content.
	ErrBusy = errors.New("the same content is being written")
	// ErrDigestMismatch means that the received content has the wrong digest. It is discarded.
	ErrDigestMismatch = errors.New("its content does not match its digest")
)

// DefaultLimit is the default maximum size of a store, in bytes.
const DefaultLimit = 4 << 30

// Store stores content by digest in a directory of its own: bundles and proofs, on hubs and agents.
// Content is written atomically and durably, and verified when it is read. It is safe for
// concurrent use by one process.
//
//	DIR/HEX            content, named by its SHA-256
//	DIR/partial/HEX    a partial download
//	DIR/new/N          content whose digest is not known yet
type Store struct {
	fs    host.FS
	dir   string
	limit int64

	mu       sync.Mutex
	have     map[string]int64 // digest to size
	partial  map[string]int64
	busy     map[string]int64 // being written, to the number of missing bytes
	verified map[string]stamp
	swept    map[string]bool // marked by the last Sweep, for removal by the next one
	next     int
}

// stamp identifies the version of a file when it was verified. Programs cannot set the change time.
type stamp struct {
	ino         uint64
	ctime, size int64
}

// OpenStore opens the store in a directory, and creates the directory if it does not exist. limit
// is the maximum size of all content, in bytes; 0 is DefaultLimit. Incomplete content of a stopped
// process is removed, except for partial downloads.
func OpenStore(files host.FS, dir string, limit int64) (*Store, error) {
	s := &Store{fs: files, dir: path.Clean(dir), limit: cmp.Or(limit, DefaultLimit),
		busy: map[string]int64{}, verified: map[string]stamp{}}
	for _, d := range []string{s.dir, s.dir + "/partial", s.dir + "/new"} {
		if err := files.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot open the store of content: %w", err)
		}
	}
	// If a power failure removed a directory that is not synced, its content would be lost too.
	err := errors.Join(files.SyncDir(path.Dir(s.dir)), files.SyncDir(s.dir))
	if err != nil {
		return nil, fmt.Errorf("cannot open the store of content: %w", err)
	}
	if s.have, err = s.list(s.dir); err == nil {
		s.partial, err = s.list(s.dir + "/partial")
	}
	if err == nil {
		err = s.clear(s.dir + "/new")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the store of content: %w", err)
	}
	return s, nil
}

func (s *Store) list(dir string) (map[string]int64, error) {
	names, err := s.fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, name := range names {
		if fleet.CheckDigest("sha256:"+name) != nil {
			continue
		}
		st, err := s.fs.Lstat(path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out["sha256:"+name] = st.Size
	}
	return out, nil
}

func (s *Store) clear(dir string) error {
	names, err := s.fs.ReadDir(dir)
	for _, name := range names {
		err = errors.Join(err, s.fs.Remove(path.Join(dir, name)))
	}
	return err
}

func (s *Store) path(digest string) string {
	return path.Join(s.dir, strings.TrimPrefix(digest, "sha256:"))
}

func (s *Store) partialPath(digest string) string {
	return path.Join(s.dir, "partial", strings.TrimPrefix(digest, "sha256:"))
}

// Has returns true if the store has the content. The content is verified when it is opened.
func (s *Store) Has(b fleet.Bundle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, ok := s.have[b.Digest]
	return ok && size == b.Size
}

// Used returns the size of all content, including the missing bytes of downloads.
func (s *Store) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used()
}

func (s *Store) used() (sum int64) {
	for _, sizes := range []map[string]int64{s.have, s.partial, s.busy} {
		for _, n := range sizes {
			sum += n
		}
	}
	return sum
}

// Open opens stored content after verifying it. Damaged content is removed, and the error is then
// fleet.ErrNotFound, as for missing content. The caller must close the file.
func (s *Store) Open(b fleet.Bundle) (host.File, error) {
	if err := fleet.CheckDigest(b.Digest); err != nil {
		return nil, err
	}
	s.wanted(b.Digest)
	f, err := s.fs.Open(s.path(b.Digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot open the content %s: %w", b.Digest, fleet.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	ok, err := s.verify(f, b)
	if ok {
		return f, nil
	}
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("cannot read the content %s: %w", b.Digest, err)
	}
	return nil, errors.Join(fmt.Errorf("cannot open the content %s: it was damaged and is removed: %w", b.Digest,
		fleet.ErrNotFound), s.drop(b.Digest))
}

// openAny is Open for content of unknown size.
func (s *Store) openAny(digest string) (host.File, int64, error) {
	s.mu.Lock()
	size := s.have[digest]
	s.mu.Unlock()
	f, err := s.Open(fleet.Bundle{Digest: digest, Size: size})
	return f, size, err
}

// verify reads the whole file and compares its digest, unless the file is unchanged since it was
// verified.
func (s *Store) verify(f host.File, b fleet.Bundle) (bool, error) {
	st, err := f.Stat()
	if err != nil || st.Size != b.Size {
		return false, err
	}
	now := stamp{st.Ino, st.CTime, st.Size}
	s.mu.Lock()
	known := s.verified[b.Digest] == now
	s.mu.Unlock()
	if known {
		return true, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, st.Size)); err != nil {
		return false, err
	}
	if digestText(sum.Sum(nil)) != b.Digest {
		return false, nil
	}
	s.mu.Lock()
	s.verified[b.Digest] = now
	s.mu.Unlock()
	return true, nil
}

func (s *Store) drop(digest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.have, digest)
	delete(s.verified, digest)
	if err := s.fs.Remove(s.path(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Remove removes content. Missing content is not an error. Open files stay readable.
func (s *Store) Remove(b fleet.Bundle) error {
	if err := fleet.CheckDigest(b.Digest); err != nil {
		return err
	}
	return s.drop(b.Digest)
}

// Read returns small content, such as a proof. most is the maximum size in bytes.
func (s *Store) Read(b fleet.Bundle, most int64) ([]byte, error) {
	if b.Size > most {
		return nil, fmt.Errorf("cannot read the content %s: it has %d bytes, more than %d", b.Digest, b.Size, most)
	}
	f, err := s.Open(b)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := make([]byte, b.Size)
	_, err = io.ReadFull(f, out)
	return out, err
}

// Add stores the output of write durably, and returns its digest and size. Equal content is stored
// once.
func (s *Store) Add(write func(io.Writer) error) (b fleet.Bundle, err error) {
	s.mu.Lock()
	s.next++
	temp := fmt.Sprintf("%s/new/%d", s.dir, s.next)
	s.mu.Unlock()
	f, err := s.fs.Create(temp)
	if err != nil {
		return b, fmt.Errorf("cannot store content: %w", err)
	}
	w := &adding{store: s, file: f, sum: sha256.New(), key: temp}
	err = write(w)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		b = fleet.Bundle{Digest: digestText(w.sum.Sum(nil)), Size: w.size}
		err = s.settle(temp, b)
	}
	s.mu.Lock()
	delete(s.busy, temp)
	s.mu.Unlock()
	if err != nil {
		_ = s.fs.Remove(temp)
		return fleet.Bundle{}, fmt.Errorf("cannot store content: %w", err)
	}
	return b, nil
}

type adding struct {
	store *Store
	file  host.File
	sum   hash.Hash
	size  int64
	key   string
}

func (a *adding) Write(p []byte) (int, error) {
	a.store.mu.Lock()
	full := a.store.used()+int64(len(p)) > a.store.limit
	if !full {
		a.store.busy[a.key] += int64(len(p))
	}
	a.store.mu.Unlock()
	if full {
		return 0, ErrFull
	}
	n, err := a.file.Write(p)
	a.sum.Write(p[:n])
	a.size += int64(n)
	return n, err
}

// settle gives a durable file its final name.
func (s *Store) settle(temp string, b fleet.Bundle) error {
	err := s.fs.RenameNew(temp, s.path(b.Digest))
	if errors.Is(err, fs.ErrExist) {
		// The content can exist without being counted, if an earlier sync failed.
		if err = s.settleAgain(temp, b); err == nil && s.Has(b) {
			return nil
		}
	}
	if err == nil {
		err = s.fs.SyncDir(s.dir)
	}
	if err == nil {
		s.mu.Lock()
		s.have[b.Digest] = b.Size
		s.mu.Unlock()
	}
	return err
}

// settleAgain handles existing content: if it is damaged, the new file replaces it.
func (s *Store) settleAgain(temp string, b fleet.Bundle) error {
	f, err := s.Open(b)
	if err == nil {
		return errors.Join(f.Close(), s.fs.Remove(temp))
	}
	if !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return s.fs.Rename(temp, s.path(b.Digest))
}

// Collect removes content, oldest first, until room bytes can be written. It never removes content
// that keep accepts or that is being written. If too little room remains, the error is ErrFull. The
// caller must prevent a collection between writing content and the first keep that accepts it.
func (s *Store) Collect(keep func(digest string) bool, room int64) (freed int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.victims(keep) {
		if s.used()+room <= s.limit {
			return freed, nil
		}
		if err := s.fs.Remove(v.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return freed, fmt.Errorf("cannot make room: %w", err)
		}
		delete(v.of, v.digest)
		delete(s.verified, v.digest)
		freed += v.size
	}
	if s.used()+room > s.limit {
		return freed, fmt.Errorf("cannot make room for %d bytes: all stored content is in use: %w", room, ErrFull)
	}
	return freed, nil
}

// victim is content that can be removed.
type victim struct {
	digest, path string
	size, time   int64
	of           map[string]int64
}

// victims returns the content to remove in order: unused partial downloads, then the oldest
// content.
func (s *Store) victims(keep func(string) bool) []victim {
	var out []victim
	add := func(of map[string]int64, path func(string) string, first int64) {
		for digest, size := range of {
			if _, busy := s.busy[digest]; busy || keep(digest) {
				continue
			}
			v := victim{digest: digest, path: path(digest), size: size, of: of}
			if st, err := s.fs.Lstat(v.path); err == nil && first == 0 {
				v.time = st.MTime
			}
			out = append(out, v)
		}
	}
	add(s.partial, s.partialPath, 1)
	add(s.have, s.path, 0)
	slices.SortFunc(out, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.time, b.time), strings.Compare(a.path, b.path))
	})
	return out
}
