package content_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
)

func nameOf(text string) fleet.Bundle {
	sum := sha256.Sum256([]byte(text))
	return fleet.Bundle{Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text))}
}

func add(s *content.Store, text string) (fleet.Bundle, error) {
	return s.Add(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func mustAdd(t testing.TB, s *content.Store, text string) fleet.Bundle {
	t.Helper()
	b, err := add(s, text)
	if err != nil || b != nameOf(text) {
		t.Fatalf("%+v, %v", b, err)
	}
	return b
}

func read(t testing.TB, s *content.Store, b fleet.Bundle) string {
	t.Helper()
	text, err := s.Read(b, 1<<20)
	if err != nil {
		return "! " + err.Error()
	}
	return string(text)
}

// stores runs a test on both kinds of file systems.
func stores(t *testing.T, test func(t *testing.T, open func(limit int64) *content.Store, fs host.FS)) {
	disk, err := local.Open(t.TempDir(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	for name, files := range map[string]host.FS{"mem": mem.NewFS(mem.Options{}), "disk": disk} {
		t.Run(name, func(t *testing.T) {
			test(t, func(limit int64) *content.Store {
				s, err := content.OpenStore(files, "/content", limit)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}, files)
		})
	}
}

func TestStore(t *testing.T) {
	stores(t, func(t *testing.T, open func(int64) *content.Store, files host.FS) {
		s := open(100)
		a, b := mustAdd(t, s, "some content"), mustAdd(t, s, "other")
		if mustAdd(t, s, "other") != b || s.Used() != 17 || !s.Has(a) || s.Has(nameOf("none")) {
			t.Errorf("%d bytes", s.Used())
		}
		s = open(100)
		if read(t, s, a) != "some content" || s.Used() != 17 {
			t.Errorf("opened again it has %q, %d bytes", read(t, s, a), s.Used())
		}
		if _, err := s.Open(nameOf("none")); !errors.Is(err, fleet.ErrNotFound) {
			t.Error(err)
		}
		if _, err := s.Open(fleet.Bundle{Digest: "sha256:../../etc/passwd"}); err == nil {
			t.Error("a path is taken for a digest")
		}
		if _, err := s.Open(fleet.Bundle{Digest: a.Digest, Size: a.Size + 1}); !errors.Is(err, fleet.ErrNotFound) {
			t.Error("content of another size is opened:", err)
		}
	})
}

// TestStoreFindsDamage: damaged content is not returned, but removed and downloaded again.
func TestStoreFindsDamage(t *testing.T) {
	stores(t, func(t *testing.T, open func(int64) *content.Store, files host.FS) {
		s := open(0)
		b := mustAdd(t, s, "some content")
		if read(t, s, b) != "some content" {
			t.Fatal("it cannot be read")
		}
		f, err := files.OpenWrite("/content/" + strings.TrimPrefix(b.Digest, "sha256:"))
		if err == nil {
			_, err = f.Write([]byte("X"))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(b); !errors.Is(err, fleet.ErrNotFound) || !strings.Contains(err.Error(), "damaged") || s.Has(b) {
			t.Error("damaged content is opened:", err)
		}
		if mustAdd(t, s, "some content"); read(t, s, b) != "some content" {
			t.Error(read(t, s, b))
		}
	})
}

// TestStorePartial: received bytes survive a restart, and only complete content is stored.
func TestStorePartial(t *testing.T) {
	stores(t, func(t *testing.T, open func(int64) *content.Store, _ host.FS) {
		want := nameOf("some content")
		s := open(100)
		p, err := s.Begin(want)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(want); !errors.Is(err, content.ErrBusy) {
			t.Error("two write the same:", err)
		}
		io.WriteString(p, "some ")
		if err := p.Commit(); err == nil {
			t.Error("a part is taken for the whole")
		}
		p.Close()
		s = open(100)
		if p, err = s.Begin(want); err != nil || p.Offset() != 5 {
			t.Fatal(p.Offset(), err)
		}
		if _, err := io.WriteString(p, "content and more"); !errors.Is(err, content.ErrDigestMismatch) || p.Offset() != 5 {
			t.Error("more is taken than was named:", err)
		}
		io.WriteString(p, "CONTENT")
		if err := p.Commit(); !errors.Is(err, content.ErrDigestMismatch) || p.Offset() != 0 {
			t.Error("other content is taken:", err)
		}
		io.WriteString(p, "some content")
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if read(t, s, want) != "some content" || s.Used() != 12 {
			t.Errorf("%q, %d bytes", read(t, s, want), s.Used())
		}
	})
}

// TestStoreBound: the limit includes stored content and reserved bytes, and Collect never removes
// content that is in use.
func TestStoreBound(t *testing.T) {
	s := memStore(t, 40)
	a := mustAdd(t, s, strings.Repeat("a", 10))
	b := mustAdd(t, s, strings.Repeat("b", 10))
	if _, err := add(s, strings.Repeat("c", 21)); !errors.Is(err, content.ErrFull) {
		t.Error("the store grew over its bound:", err)
	}
	p, err := s.Begin(nameOf(strings.Repeat("d", 20)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(nameOf("e")); !errors.Is(err, content.ErrFull) {
		t.Error("what is to come does not count:", err)
	}
	keep := func(digest string) bool { return digest == a.Digest }
	if freed, err := s.Collect(keep, 30); freed != 10 || !errors.Is(err, content.ErrFull) || !s.Has(a) || s.Has(b) {
		t.Error("collected", freed, err)
	}
	io.WriteString(p, "dd")
	p.Close()
	if freed, err := s.Collect(keep, 30); freed != 2 || err != nil || s.Used() != 10 {
		t.Error("the beginning of what nobody asks for stays:", freed, err, s.Used())
	}
	if freed, err := s.Collect(func(string) bool { return true }, 30); freed != 0 || err != nil {
		t.Error(freed, err)
	}
}

func TestStoreBoundsBeginnings(t *testing.T) {
	s := memStore(t, 0)
	for i := range 40 {
		p, err := s.Begin(nameOf(strings.Repeat("x", i+2)))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(p, "x")
		p.Close()
	}
	if s.Used() > 16 {
		t.Errorf("%d beginnings are kept", s.Used())
	}
}

// TestStoreFaults: after a failure of any operation, stored content stays, and all reported content
// is complete, also after a power failure.
func TestStoreFaults(t *testing.T) {
	text := strings.Repeat("content ", 100)
	work := func(files host.FS) (bool, error) {
		s, err := content.OpenStore(files, "/content", 0)
		if err != nil {
			return false, err
		}
		_, err = add(s, text)
		if err != nil {
			return false, err
		}
		p, err := s.Begin(nameOf("second"))
		if err != nil {
			return true, err
		}
		defer p.Close()
		if _, err = io.WriteString(p, "second"); err == nil {
			err = p.Commit()
		}
		return true, err
	}
	for n := 1; ; n++ {
		h := mem.New(mem.Options{})
		s, _ := content.OpenStore(h, "/content", 0)
		mustAdd(t, s, "old")
		plan := &fault.Plan{At: n, Err: syscall.EIO, Short: true}
		first, err := work(fault.Wrap(h, plan))
		if !plan.Hit() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		for seed := range uint64(4) {
			after := h.Crash(rand.New(rand.NewPCG(seed, uint64(n))))
			s, err := content.OpenStore(after, "/content", 0)
			if err != nil {
				t.Fatalf("operation %d: %v", n, err)
			}
			if got := read(t, s, nameOf("old")); got != "old" {
				t.Errorf("operation %d: what was there is %q", n, got)
			}
			if first && read(t, s, nameOf(text)) != text {
				t.Errorf("operation %d: what was acknowledged is lost: %.40q", n, read(t, s, nameOf(text)))
			}
			if got := read(t, s, nameOf("second")); got != "second" && !strings.HasPrefix(got, "! cannot open") {
				t.Errorf("operation %d: %q", n, got)
			}
			if mustAdd(t, s, text); read(t, s, nameOf(text)) != text {
				t.Errorf("operation %d: it does not heal", n)
			}
		}
	}
}
