package here_test

import (
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/executor/here"
)

// The zone is that of the root, and "" for a name that no database has.
func TestZone(t *testing.T) {
	for target, want := range map[string]string{
		"/usr/share/zoneinfo/Asia/Tokyo":         "Asia/Tokyo",
		"../usr/share/zoneinfo/America/New_York": "America/New_York",
		"/usr/share/zoneinfo/Mars/Olympus":       "",
	} {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(root, "etc", "localtime")); err != nil {
			t.Fatal(err)
		}
		if got := here.Zone(here.Machine{Root: root}); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}
