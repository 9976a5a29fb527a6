package here

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOwnDirectory: it is made below what nobody else can exchange, and nowhere else.
func TestOwnDirectory(t *testing.T) {
	home := t.TempDir()
	if err := os.Symlink(home, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/b", "a", "link/a/b"} {
		got, err := OwnDirectory(filepath.Join(home, path))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(got); err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
		if want := filepath.Join(home, "a/b"); path != "a" && got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for name, spoil := range map[string]func(above, dir string) error{
		"a directory for others": func(_, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700),
				os.Chmod(dir, 0o770))
		},
		"below a directory of others": func(above, _ string) error { return os.Chmod(above, 0o777) },
		"a file":                      func(_, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link to nowhere":           func(above, dir string) error { return os.Symlink(filepath.Join(above, "x"), dir) },
		"another's directory": func(_, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700),
				os.Chown(dir, 65534, -1))
		},
		"another's directory above": func(above, _ string) error { return os.Chown(above, 65534, -1) },
	} {
		if os.Getuid() != 0 && name[:2] == "an" {
			continue // only root can play it
		}
		above := filepath.Join(t.TempDir(), "above")
		dir := filepath.Join(above, "own")
		if err := errors.Join(os.Mkdir(above, 0o700), spoil(above, dir)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadDir(above)
		got, err := OwnDirectory(dir)
		if err == nil {
			t.Errorf("%s is taken: %s", name, got)
		}
		if after, _ := os.ReadDir(above); len(after) != len(before) {
			t.Errorf("%s: something is made there", name)
		}
	}
}
