package lock

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fingerprint is everything below the named directories of a machine, mode and
// content by path, but what is kept only to be faster the next time.
func (m *machine) fingerprint(t testing.TB, directories ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, directory := range directories {
		err := filepath.WalkDir(m.path(directory), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == "cache" && d.IsDir() {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(m.dir, p)
			out[rel] = info.Mode().String()
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				out[rel] += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// differs lists where two fingerprints differ, sorted.
func differs(a, b map[string]string) []string {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %q, then %q", k, a[k], b[k]))
		}
	}
	return out
}
