package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// TestIndexSparesReadingPacks: with the indexes no pack is read, and they have the same content as
// the packs.
func TestIndexSparesReadingPacks(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s, err := OpenWith(fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Pack(true)
	for i := range 46 { // as many as an entry has bytes, and more
		if _, err := s.PutBytes(fmt.Append(nil, "object ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SyncObjects(); err != nil {
		t.Fatal(err)
	}
	st, err := fsys.Lstat(packPath(1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.readAll(indexPath(1), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	read, ok := decodeIndex(b, 1, st.Size)
	scanned, err := s.scanPack(1)
	if !ok || err != nil || len(read) != 46 || !maps.Equal(read, scanned) {
		t.Errorf("the index has %d objects, %v; the pack has %d, %v", len(read), ok, len(scanned), err)
	}
}

// TestIndexOutOfItsPack: an index with a valid checksum is not trusted for places outside of the
// pack.
func TestIndexOutOfItsPack(t *testing.T) {
	const size = 1000
	index := func(offset uint64, length uint32) []byte {
		le := binary.LittleEndian
		b := le.AppendUint64([]byte(indexMagic), size)
		b = append(b, make([]byte, 32)...)
		b = le.AppendUint32(le.AppendUint64(b, offset), length)
		return le.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	}
	for _, c := range []struct {
		offset uint64
		length uint32
		want   bool
	}{{0, size, true}, {999, 1, true}, {0, 0, true}, {size, 0, true}, {0, size + 1, false}, {999, 2, false},
		{size + 1, 0, false}, {1 << 63, 1, false}, {1<<64 - 1, 1, false}} {
		if _, ok := decodeIndex(index(c.offset, c.length), 1, size); ok != c.want {
			t.Errorf("%d bytes at %d are believed: %v", c.length, c.offset, ok)
		}
	}
	whole := index(10, 20)
	for i := range whole {
		if _, ok := decodeIndex(slices.Clip(whole[:i]), 1, size); ok {
			t.Errorf("cut at %d it is believed", i)
		}
	}
}

// TestBallastIsWritten: as many bytes as were asked for, in as few writes.
func TestBallastIsWritten(t *testing.T) {
	const chunk = 39 << 15
	for size, writes := range map[int64]int{1: 1, chunk - 1: 1, chunk: 1, chunk + 1: 2, 2 * chunk: 2} {
		got := 0
		fsys := mem.NewFS(mem.Options{})
		if _, err := OpenWith(fsys, Options{}); err != nil {
			t.Fatal(err)
		}
		s, err := OpenWith(fsys.Counted(func(op, _ string) error {
			if op == host.OpWrite {
				got++
			}
			return nil
		}), Options{Ballast: size})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.EnsureBallast(); err != nil {
			t.Fatal(err)
		}
		if st, err := fsys.Lstat("/ballast"); err != nil || st.Size != size || got != writes {
			t.Errorf("%d bytes: %d are there after %d writes, %v; want %d", size, st.Size, got, err, writes)
		}
	}
}
