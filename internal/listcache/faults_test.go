package listcache_test

import (
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
)

// TestFaults: whatever operation fails, what was kept before is there whole, or
// nothing is, and the error is told.
func TestFaults(t *testing.T) {
	tr := tree()
	res := compiled(t, tr)
	for n := 1; ; n++ {
		h := mem.New(mem.Options{})
		dir := listcache.Dir{FS: h}
		if n%2 == 0 { // there was one before
			if err := dir.Keep(tr, key(), res); err != nil {
				t.Fatal(err)
			}
		}
		p := &fault.Plan{At: (n + 1) / 2, Err: syscall.ENOSPC, Short: true}
		err := listcache.Dir{FS: fault.Wrap(h, p)}.Keep(tr, key(), res)
		if p.Hit() != (err != nil) {
			t.Errorf("operation %d fails, and the error is %v", p.At, err)
		}
		if kept, ok := dir.Find(key()); ok {
			if got, err := dir.Result(kept, tr); err == nil && got.List.Digest() != res.List.Digest() {
				t.Errorf("operation %d leaves another list", p.At)
			}
		} else if err == nil || n%2 == 0 && p.At > 100 {
			t.Errorf("operation %d loses the list: %v", p.At, err)
		}
		if !p.Hit() && n%2 == 0 {
			break
		}
	}
}

// TestUnreadable: a file that cannot be read is none.
func TestUnreadable(t *testing.T) {
	tr := tree()
	res := compiled(t, tr)
	for n := 1; ; n++ {
		h := mem.New(mem.Options{})
		if err := (listcache.Dir{FS: h}).Keep(tr, key(), res); err != nil {
			t.Fatal(err)
		}
		p := &fault.Plan{At: n, Err: syscall.EIO, Reads: true}
		dir := listcache.Dir{FS: fault.Wrap(h, p)}
		if kept, ok := dir.Find(key()); ok {
			if got, err := dir.Result(kept, tr); err == nil && got.List.Digest() != res.List.Digest() {
				t.Errorf("read %d fails, and there is another list", n)
			}
		}
		if !p.Hit() {
			break
		}
	}
}

// TestSealedDamage: a body that somebody wrote anew, with a digest that is
// right, gives the list or is to be compiled again; it never breaks anything.
func TestSealedDamage(t *testing.T) {
	dir, tr := listcache.Dir{FS: mem.New(mem.Options{})}, tree()
	res := compiled(t, tr)
	if err := dir.Keep(tr, key(), res); err != nil {
		t.Fatal(err)
	}
	const name = "list\x00.\x00one\x00body"
	body := dir.Load(name)
	kept, ok := dir.Find(key())
	if len(body) == 0 || !ok {
		t.Fatal("the body is not where this test looks for it")
	}
	for i := range body {
		if err := dir.Save(name, body[:i]); err != nil {
			t.Fatal(err)
		}
		// Blobs stand one after the other at the end: fewer can be whole too.
		if got, err := dir.Result(kept, tr); err == nil && got.List.Digest() != res.List.Digest() {
			t.Errorf("cut at %d there is another list", i)
		} else if err != nil && !strings.Contains(err.Error(), "cannot read the cached list") {
			t.Errorf("cut at %d: %v", i, err)
		}
		if _, err := damagedAt(dir, name, kept, tr, body, i); err != nil &&
			!strings.Contains(err.Error(), "cannot read the cached list") {
			t.Errorf("flipped at %d: %v", i, err)
		}
	}
}

func damagedAt(dir listcache.Dir, name string, kept *listcache.Kept, tr repo.Tree, body []byte, i int) (any, error) {
	b := append([]byte(nil), body...)
	b[i] ^= 0x81
	if err := dir.Save(name, b); err != nil {
		return nil, err
	}
	return dir.Result(kept, tr)
}
