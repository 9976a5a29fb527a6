package local_test

import (
	"errors"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/image"
)

// After a path appears that is not a directory, a path below it no longer returns "does not exist":
// the cached absence of the directory is dropped.
func TestWhatCameIsSeenAtOnce(t *testing.T) {
	makes := map[string]func(h host.FS) error{
		"Create":     func(h host.FS) error { f, err := h.Create("/a"); return errors.Join(err, f.Close()) },
		"OpenAppend": func(h host.FS) error { f, err := h.OpenAppend("/a"); return errors.Join(err, f.Close()) },
		"Mknod":      func(h host.FS) error { return h.Mknod("/a", image.Fifo, 0o600, 0) },
		"Link": func(h host.FS) error {
			f, err := h.Create("/b")
			return errors.Join(err, f.Close(), h.Link("/b", "/a"))
		},
	}
	for name, bring := range makes {
		h, err := local.Open(t.TempDir(), local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 100; i++ { // the cache is short-lived: one of these attempts is within its time
			if _, err := h.Open("/a/x"); err == nil {
				t.Fatal("there is a file where none is")
			}
			if err := bring(h); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := h.Open("/a/x"); !errors.Is(err, syscall.ENOTDIR) {
				t.Fatalf("%s: %v", name, err)
			}
			_ = h.Remove("/a")
			_ = h.Remove("/b")
		}
		_ = h.Close()
	}
}
