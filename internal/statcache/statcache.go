// Package statcache stores the digest of the content of a file by its lstat data, like the index of
// git: a file whose inode, size and times are unchanged has the same content.
//
//	c := statcache.Load(state)
//	if d, ok := c.Digest(path, st); !ok { …read and hash…; c.Remember(path, st, d) }
//	c.Save()
//
// The change time is decisive, because programs cannot set it. If a file is changed again within the
// resolution of the clock, its times may not show it (git calls such files racy). These files are not
// stored, so they are read again. If the cache is lost or invalid, files are read again.
//
//	file:  "FETTLESTAT1\n"  count u32  entry*  crc32c u32     (little endian)
//	entry: len u16  path  dev u64  ino u64  size i64  mtime i64  ctime i64  sha256 [32]
package statcache

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/host"
)

const (
	magic = "FETTLESTAT1\n"
	file  = "/cache/stat"
	temp  = "/cache/stat.new"
	// grain is the time after a change in which a file counts as racy. It is well above the tick of
	// the kernel and the time resolution of file systems.
	grain = 20 * time.Millisecond
	// largest is the maximum size of the cache file in bytes; a larger file is ignored.
	largest = 256 << 20
)

type entry struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
	sum          [32]byte
}

// Cache is safe for concurrent use.
type Cache struct {
	fs    host.FS
	now   func() time.Time
	mu    sync.Mutex
	known map[string]entry
	dirty bool
}

// Load reads the cache from a state directory. If the file is missing or damaged, the cache is empty.
func Load(state host.FS, now func() time.Time) *Cache {
	c := &Cache{fs: state, now: now, known: map[string]entry{}}
	f, err := state.Open(file)
	if err != nil {
		return c
	}
	defer f.Close()
	var buf bytes.Buffer
	if st, err := f.Stat(); err == nil {
		buf.Grow(int(min(st.Size, largest)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(f, largest)); err == nil {
		c.known = decode(buf.Bytes())
	}
	return c
}

// Digest returns the stored digest if the file is unchanged.
func (c *Cache) Digest(path string, st host.Stat) (string, bool) {
	c.mu.Lock()
	e, ok := c.known[path]
	c.mu.Unlock()
	if !ok || e.dev != st.Dev || e.ino != st.Ino || e.size != st.Size || e.mtime != st.MTime || e.ctime != st.CTime {
		return "", false
	}
	const algorithm = "sha256:"
	var name [len(algorithm) + 2*len(e.sum)]byte
	copy(name[:], algorithm)
	hex.Encode(name[len(algorithm):], e.sum[:])
	return string(name[:]), true
}

// Remember stores the digest of content that was read under this stat, unless the file changed too
// recently.
func (c *Cache) Remember(path string, st host.Stat, digest string) {
	if age := c.now().UnixNano() - st.CTime; age < int64(grain) {
		return
	}
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil || len(sum) != 32 || len(path) > 1<<16-1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[path] = entry{st.Dev, st.Ino, st.Size, st.MTime, st.CTime, [32]byte(sum)}
	c.dirty = true
}

// Dirty reports whether there are unsaved changes.
func (c *Cache) Dirty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dirty
}

// Save writes a changed cache. It keeps only paths for which keep returns true, and does not sync the
// file to the disk.
func (c *Cache) Save(keep func(path string) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty {
		return nil
	}
	maps.DeleteFunc(c.known, func(p string, _ entry) bool {
		p, _, _ = strings.Cut(p, "\x00") // the text after the NUL says how the file is read
		return !keep(p)
	})
	if err := c.fs.Mkdir("/cache", 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := c.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w, err := c.fs.Create(temp)
	if err != nil {
		return err
	}
	if _, err := w.Write(encode(c.known)); err != nil {
		w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.dirty = false
	return c.fs.Rename(temp, file)
}

func encode(known map[string]entry) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(magic), uint32(len(known)))
	for _, p := range slices.Sorted(maps.Keys(known)) {
		e := known[p]
		b = le.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
		for _, v := range []uint64{e.dev, e.ino, uint64(e.size), uint64(e.mtime), uint64(e.ctime)} {
			b = le.AppendUint64(b, v)
		}
		b = append(b, e.sum[:]...)
	}
	return le.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// fixed is the size of an entry without its path.
const fixed = 2 + 5*8 + 32

func decode(b []byte) map[string]entry {
	le := binary.LittleEndian
	known := map[string]entry{}
	if len(b) < len(magic)+8 || string(b[:len(magic)]) != magic {
		return known
	}
	body, sum := b[:len(b)-4], le.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return known
	}
	n := int(le.Uint32(body[len(magic):]))
	body = body[len(magic)+4:]
	for ; n > 0 && len(body) >= fixed; n-- {
		l := int(le.Uint16(body))
		if len(body) < fixed+l {
			return map[string]entry{}
		}
		p := string(body[2 : 2+l])
		v := body[2+l:]
		known[p] = entry{le.Uint64(v), le.Uint64(v[8:]), int64(le.Uint64(v[16:])), int64(le.Uint64(v[24:])),
			int64(le.Uint64(v[32:])), [32]byte(v[40:72])}
		body = v[72:]
	}
	return known
}
