// Package scale generates large repositories for tests: the example of a small company with many
// targets.
//
//	tree, err := scale.Tree("../../../examples/company", 10_000)   // in memory
//	err := scale.Write(dir, "../../../examples/company", 10_000)   // in a directory
//
// As in the example, targets share a role, a site and an environment, and have a name and an address
// of their own. The same number gives the same bytes.
package scale

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/repo"
)

// perFile is how many targets stand in one file: a file of the language has a
// limit.
const perFile = 2000

// shares are the kinds of targets with their part of a hundred.
var shares = [...]struct {
	role, prefix, site, env string
	part                    int
}{
	{"web", "web", "ber", "prod", 25}, {"web", "web", "ams", "prod", 15}, {"web", "web", "ber", "staging", 5},
	{"app", "app", "ber", "prod", 20}, {"app", "app", "ams", "prod", 12}, {"app", "app", "ber", "staging", 5},
	{"db", "db", "ber", "prod", 5}, {"db", "db", "ams", "prod", 3},
	{"monitoring", "mon", "ber", "prod", 2}, {"monitoring", "mon", "ams", "prod", 2},
	{"bastion", "jump", "ber", "prod", 1}, {"bastion", "jump", "ams", "prod", 1},
	{"dns", "ns", "ber", "prod", 2}, {"dns", "ns", "ams", "prod", 2},
}

// Files returns the files of the example in dir, with n targets instead of its own.
func Files(dir string, n int) (map[string]string, error) {
	files := map[string]string{}
	top := os.DirFS(dir)
	err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
		base := filepath.Base(p)
		if err != nil || d.IsDir() || strings.HasPrefix(base, "targets-") || strings.HasSuffix(base, ".steps") ||
			strings.HasPrefix(p, "tests/") {
			return err
		}
		text, err := fs.ReadFile(top, p)
		files[p] = string(text)
		return err
	})
	for first := 0; first < n; first += perFile {
		files[fmt.Sprintf("targets-%03d.hcl", first/perFile)] = targets(first, min(first+perFile, n))
	}
	return files, err
}

// targets declares the targets from first up to end.
func targets(first, end int) string {
	var b strings.Builder
	for i := first; i < end; i++ {
		at, share := i%100, 0
		for at >= shares[share].part {
			at -= shares[share].part
			share++
		}
		s := shares[share]
		fmt.Fprintf(&b, "target %q {\n  roles  = [%q]\n  labels = { site = %q, env = %q }\n  vars   = { address = \"10.%d.%d.%d\" }\n}\n",
			Name(i), s.role, s.site, s.env, 10+i>>16, i>>8&255, i&255)
	}
	return b.String()
}

// Name is the name of the i-th target.
func Name(i int) string {
	at, share := i%100, 0
	for at >= shares[share].part {
		at -= shares[share].part
		share++
	}
	return fmt.Sprintf("%s%d.%s.example.net", shares[share].prefix, i, shares[share].site)
}

// Tree is the repository in memory.
func Tree(dir string, n int) (repo.Tree, error) {
	files, err := Files(dir, n)
	return repo.MapTree(files), err
}

// Write puts the repository into a directory, which it makes.
func Write(to, dir string, n int) error {
	files, err := Files(dir, n)
	if err != nil {
		return err
	}
	for p, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, p)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, p), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
