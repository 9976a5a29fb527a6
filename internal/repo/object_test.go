package repo_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lie puts other content under the name of an object.
func (g *gitRepo) lie(id, typ, content string) {
	g.t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	fmt.Fprintf(w, "%s %d\x00%s", typ, len(content), content)
	p := filepath.Join(g.dir, ".git/objects", id[:2], id[2:])
	if err := joinErr(w.Close(), os.Remove(p), os.WriteFile(p, b.Bytes(), 0o444)); err != nil {
		g.t.Fatal(err)
	}
}

// All objects of a commit match their names, at every depth.
func TestObjectsAreWhatTheirNamesSay(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for name, lie := range map[string]func(g *gitRepo){
			"blob": func(g *gitRepo) { g.lie(g.git("rev-parse", "main:d/f"), "blob", "evil\n") },
			"large blob": func(g *gitRepo) {
				g.lie(g.git("rev-parse", "main:d/large"), "blob",
					strings.Repeat("evil", 100_000))
			},
			"link":     func(g *gitRepo) { g.lie(g.git("rev-parse", "main:d/l"), "blob", "evil") },
			"tree":     func(g *gitRepo) { g.lie(g.git("rev-parse", "main:d"), "tree", "") },
			"top tree": func(g *gitRepo) { g.lie(g.git("rev-parse", "main:"), "tree", "") },
			"commit": func(g *gitRepo) {
				g.lie(g.git("rev-parse", "main"), "commit", "tree "+g.git("rev-parse",
					"main:d")+"\nauthor a <a> 1 +0\ncommitter a <a> 1 +0\n\nx\n")
			},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				g := newGit(t, "--object-format="+format)
				g.write("d/f", "good\n")
				g.write("d/large", strings.Repeat("good", 100_000))
				if err := os.Symlink("f", g.dir+"/d/l"); err != nil {
					t.Fatal(err)
				}
				g.commit("c")
				if err := g.open().Close(); err != nil {
					t.Fatal(err)
				}
				lie(g)
				r := g.open()
				for range 2 {
					_, _, err := r.At(t.Context(), "main")
					wantErr(t, err)
				}
			})
		}
	}
}
