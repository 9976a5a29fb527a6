// Package kindtest runs the golden tests of kinds: states in the language, the
// steps that they come to below.
//
//	func TestGolden(t *testing.T) { kindtest.Run(t, kindtest.Options{Kinds: []kind.Kind{user.Kind()}}) }
//
// Each testdata/*.txtar holds main.hcl and any other files of a module, and
// either the section steps or the section mistakes, which go test -update
// rewrites. Review such a difference like code.
package kindtest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

var update = flag.Bool("update", false, "rewrite the golden sections")

// Options say which kinds a test knows.
type Options struct {
	Kinds  []kind.Kind
	Stdlib fs.FS // files of the language with more kinds; nil: none
}

// Run runs every testdata/*.txtar of the calling test's directory.
func Run(t *testing.T, o Options) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata/*.txtar: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, o, file) })
	}
}

func golden(t *testing.T, o Options, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	want := -1
	for i, f := range ar.Files {
		if f.Name == "steps" || f.Name == "mistakes" {
			want = i
			continue
		}
		texts[f.Name] = string(f.Data)
	}
	name, got := steps(texts, o)
	if *update {
		ar.Files = slices.DeleteFunc(ar.Files, func(f txtar.File) bool { return f.Name == "steps" || f.Name == "mistakes" })
		ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want < 0 {
		t.Fatal("there is neither a section steps nor a section mistakes; run go test -update")
	}
	if w := ar.Files[want]; w.Name != name || string(w.Data) != got {
		t.Errorf("got %s:\n%s\nwant %s:\n%s", name, got, w.Name, w.Data)
	}
	if again, second := steps(texts, o); again != name || second != got {
		t.Errorf("the second time it is %s:\n%s", again, second)
	}
}

// steps compiles the module in the order of declaration. This is enough for a kind, because the
// compiler orders the list.
func steps(texts map[string]string, o Options) (section, text string) {
	p, ds := source.Load(repo.MapTree(texts), source.Options{Kinds: o.Kinds, Stdlib: o.Stdlib})
	if ds.HasErrors() {
		return "mistakes", configErrors(ds)
	}
	c, ds := eval.Catalog(p, eval.Input{})
	if ds.HasErrors() {
		return "mistakes", configErrors(ds)
	}
	var b strings.Builder
	for _, n := range c.Nodes {
		if n.Group {
			continue
		}
		out, more := n.Kind.Steps(n.State)
		ds = append(ds, more...)
		blobs := map[string]string{}
		for _, blob := range out.Blobs {
			blobs[blob.Digest] = string(blob.Data)
			if text, err := (secret.Key{}).Open(blob.Data); err == nil { // a test has placeholders
				blobs[blob.Digest] = string(text) + "\n"
			}
		}
		for _, s := range out.Steps {
			fmt.Fprintln(&b, s)
			for line := range strings.Lines(blobs[s.Blob()]) {
				fmt.Fprintf(&b, "    | %s\n", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	for _, tr := range c.Triggers {
		fmt.Fprintf(&b, "# %s notifies %s of %s\n", c.Nodes[tr.From].ID, tr.Action, c.Nodes[tr.To].ID)
	}
	if ds.HasErrors() {
		return "mistakes", configErrors(ds)
	}
	return "steps", b.String()
}

func configErrors(ds diag.List) string {
	var b strings.Builder
	for _, d := range ds {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// Documented fails for every kind, attribute and action without a sentence.
func Documented(t *testing.T, kinds []kind.Kind) {
	t.Helper()
	for _, k := range kinds {
		if k.Doc == "" {
			t.Errorf("kind %s has no documentation", k.Name)
		}
		for _, a := range k.Attrs {
			if a.Doc == "" {
				t.Errorf("attribute %s of kind %s has no documentation", a.Name, k.Name)
			}
		}
		for _, a := range k.Actions {
			if a.Doc == "" {
				t.Errorf("action %s of kind %s has no documentation", a.Name, k.Name)
			}
		}
	}
}
