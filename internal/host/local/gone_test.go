package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/host/local"
)

// TestGoneFolderComes: what was looked for in a folder that was not there is
// found at once when we make the folder, and soon when somebody else does.
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
