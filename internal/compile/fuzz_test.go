package compile_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

// FuzzCompile demands that whatever compiles is a list that reads back as
// itself, the same each time, and that every digest in it has its blob.
func FuzzCompile(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			if filepath.Ext(x.Name) == ".hcl" {
				f.Add(x.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		in := compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": string(src), "t/a.tmpl": "${x}", "files/a": "b"})}
		res, ds := compile.Compile(in)
		if ds.HasErrors() {
			return
		}
		text := res.List.String()
		back, ds := step.Parse("x.steps", []byte(text))
		if ds.HasErrors() || back.String() != text {
			t.Fatalf("the list does not read back: %v\n%s", ds, text)
		}
		for _, s := range res.List {
			if _, ok := res.Blobs[s.Blob()]; s.Blob() != "" && !ok {
				t.Fatalf("no blob for %s", s)
			}
		}
		if again, _ := compile.Compile(in); again.List.String() != text {
			t.Fatalf("compiled again it is\n%s\nnot\n%s", again.List, text)
		}
	})
}
