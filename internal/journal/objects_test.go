package journal_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func objectFile(digest string) string { return "/objects/" + digest[7:9] + "/" + digest[9:] }

func TestObjects(t *testing.T) {
	h, err := local.Open(t.TempDir(), local.Options{})
	check(t, err)
	defer h.Close()
	for name, fsys := range map[string]host.FS{"mem": mem.NewFS(mem.Options{}), "local": h} {
		t.Run(name, func(t *testing.T) {
			s := open(t, fsys)
			for _, size := range []int{0, 1, 4096, 1 << 20, 1<<20 + 1, 3<<20 + 17} {
				b := bytes.Repeat([]byte{7, 1, byte(size)}, size/3+1)[:size]
				digest, n, err := s.Put(bytes.NewReader(b))
				check(t, err)
				if digest != journal.DigestOf(b) || n != int64(size) || !s.Has(digest) {
					t.Fatalf("size %d: %s, %d", size, digest, n)
				}
				if got := must(s.ReadObject(digest))(t); !bytes.Equal(got, b) {
					t.Fatalf("size %d came back with %d", size, len(got))
				}
				again := must(s.PutBytes(b))(t)
				if again != digest {
					t.Fatal(again)
				}
			}
			check(t, s.SyncObjects())
			check(t, s.SyncObjects())
			if s.Has("sha256:../../etc") || s.Has("") {
				t.Error("a bad name is there")
			}
			names := must(fsys.ReadDir("/objects"))(t)
			for _, name := range names {
				if len(name) != 2 {
					t.Errorf("left in /objects: %s", name)
				}
			}
		})
	}
}

func TestSparse(t *testing.T) {
	h, err := local.Open(t.TempDir(), local.Options{})
	check(t, err)
	defer h.Close()
	s := open(t, h)
	f := must(h.Create("/big"))(t)
	must(f.Seek(8<<20, io.SeekStart))(t)
	must(f.Write([]byte("in the middle")))(t)
	check(t, f.Truncate(32<<20))
	must(f.Seek(0, io.SeekStart))(t)
	digest, size, err := s.Put(f)
	check(t, err)
	if size != 32<<20 {
		t.Fatal(size)
	}
	out := must(h.Create("/copy"))(t)
	check(t, s.CopyTo(digest, out))
	for _, p := range []string{"/copy", objectFile(digest)} {
		c := must(h.Open(p))(t)
		start, end, err := c.NextData(0)
		check(t, err)
		if start == 0 || end-start > 1<<20 {
			t.Errorf("%s has data from %d to %d", p, start, end)
		}
		b := must(io.ReadAll(c))(t)
		if journal.DigestOf(b) != digest {
			t.Errorf("%s has other content", p)
		}
		check(t, c.Close())
	}
}

func TestBitRot(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		b := make([]byte, 1+rng.IntN(5000))
		for k := range b {
			b[k] = byte(rng.Uint32())
		}
		digest := must(open(t, fsys).PutBytes(b))(t)
		flip(t, fsys, objectFile(digest), rng.IntN(1<<20))
		s := open(t, fsys)
		var damaged *journal.DamagedError
		if got, err := s.ReadObject(digest); !errors.As(err, &damaged) || got != nil {
			t.Fatalf("%d: damage was not seen: %v", i, err)
		}
		r, _, err := s.Open(digest)
		check(t, err)
		if _, err := io.Copy(io.Discard, r); !errors.As(err, &damaged) {
			t.Fatalf("%d: damage was not seen by the reader: %v", i, err)
		}
		out := must(fsys.Create("/out"))(t)
		if err := s.CopyTo(digest, out); !errors.As(err, &damaged) {
			t.Fatalf("%d: damage was copied: %v", i, err)
		}
		check(t, fsys.Remove("/out"))
		// Putting it again heals it.
		must(s.PutBytes(b))(t)
		check(t, s.Verify(digest))
	}
}

func TestFailedObjectSyncForgets(t *testing.T) {
	for _, n := range []int{1, 40} { // by file, by file system
		fsys := mem.NewFS(mem.Options{})
		fail := false
		earlier := must(open(t, fsys).PutBytes([]byte("by an earlier process")))(t)
		s := open(t, fsys.Counted(func(op, path string) error {
			if fail && (op == host.OpSync || op == host.OpSyncFS) {
				return errors.New("disk on fire")
			}
			return nil
		}))
		old := must(s.PutBytes([]byte("old")))(t)
		check(t, s.SyncObjects())
		var batch []string
		for i := range n {
			batch = append(batch, must(s.PutBytes([]byte{byte(i), 1}))(t))
		}
		must(s.PutBytes([]byte("by an earlier process")))(t)
		fail = true
		if s.SyncObjects() == nil {
			t.Fatal("the failure was hidden")
		}
		fail = false
		for _, digest := range batch {
			if s.Has(digest) {
				t.Fatal("an object of the failed batch is still there")
			}
		}
		if !s.Has(old) || !s.Has(earlier) {
			t.Fatal("an older object went")
		}
		must(s.PutBytes([]byte{0, 1}))(t)
		check(t, s.SyncObjects())
		check(t, s.Verify(batch[0]))
	}
}

func TestLock(t *testing.T) {
	h, err := local.Open(t.TempDir(), local.Options{})
	check(t, err)
	defer h.Close()
	s, other := open(t, h), open(t, h)
	l := must(s.Lock("pid 1"))(t)
	var locked *host.LockedError
	if _, err := other.Lock("pid 2"); !errors.As(err, &locked) || locked.Holder != "pid 1" {
		t.Fatalf("got %v", err)
	}
	check(t, l.Close())
	check(t, must(other.Lock("pid 2"))(t).Close())
}
