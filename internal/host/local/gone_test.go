package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/host/local"
)

// TestGoneFolderComes: a file in a missing directory is found at once if this process creates the
// directory, and soon if another process does.
func TestGoneFolderComes(t *testing.T) {
	root := t.TempDir()
	h := open(t, root, local.Options{})
	for i, make := range []func() error{
		func() error { return h.Mkdir("/0", 0o755) },
		func() error { return os.Mkdir(filepath.Join(root, "1"), 0o755) },
		func() error {
			return errors.Join(h.Mkdir("/other", 0o755), h.Rename("/other", "/2"))
		},
	} {
		dir := "/" + string(rune('0'+i))
		for range 3 {
			if _, err := h.Lstat(dir + "/in"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("%s: %v", dir, err)
			}
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "in"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := h.Lstat(dir + "/in")
		for ours := i != 1; err != nil && !ours && t.Context().Err() == nil; {
			_, err = h.Lstat(dir + "/in")
		}
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
