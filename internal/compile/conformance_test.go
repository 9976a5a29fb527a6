package compile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/repo"
)

// forms are the forms that a repository in HCL is turned into.
var forms = []struct {
	ending string
	write  func([]entry) string
}{
	{".fettle.yaml", asYAML},
	{".fettle.json", asJSON},
	{".fettle.yaml.tmpl", func(list []entry) string { return escapedText(asYAML(list)) }},
	{".fettle.star", asStarlark},
}

// corpus returns repositories in HCL: the golden cases, the examples, and the cases of
// testdata/forms and of the kinds.
func corpus(t *testing.T) map[string]goldenCase {
	t.Helper()
	out := map[string]goldenCase{}
	for _, pattern := range []string{"testdata/*.txtar", "testdata/forms/*.txtar", "../kind/*/testdata/*.txtar"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			c := readCase(t, f)
			if e, err := c.in.Tree.Stat("hcl"); err == nil && e.Type == repo.Dir {
				c.in.Tree = repo.Sub(c.in.Tree, "hcl")
			}
			out[f] = c
		}
	}
	for _, dir := range []string{"hello", "web", "demo/v1", "demo/v2"} {
		texts := map[string]string{}
		top := os.DirFS("../../examples/" + dir)
		err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(top, p)
			texts[p] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		out[dir] = goldenCase{in: compile.Input{Tree: repo.MapTree(texts)}}
	}
	return out
}

// otherForm is the repository with every *.hcl written in another form.
func otherForm(t *testing.T, tree repo.Tree, ending string, write func([]entry) string) repo.Tree {
	t.Helper()
	texts := map[string]string{}
	var special []repo.Special
	var walk func(dir string)
	walk = func(dir string) {
		list, err := tree.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			switch e.Type {
			case repo.Dir:
				walk(e.Path)
			case repo.Symlink:
				to, _ := tree.Readlink(e.Path)
				special = append(special, repo.Link(e.Path, to))
			default:
				text, err := tree.ReadFile(e.Path)
				if err != nil {
					t.Fatal(err)
				}
				switch stem, ok := strings.CutSuffix(e.Path, ".hcl"); {
				case ok && !strings.HasPrefix(stem, "data/"): // those are variables, in a form of their own
					texts[strings.Replace(stem+ending, "fettle.fettle.", "fettle.", 1)] = write(convertFile(t, e.Path, string(text)))
				case e.Exec:
					special = append(special, repo.Exec(e.Path, string(text)))
				default:
					texts[e.Path] = string(text)
				}
			}
		}
	}
	walk(".")
	return repo.MapTree(texts, special...)
}

// A repository in any form gives the same list as in HCL, byte for byte. Each of its states has its
// place in a file of that form, on the line of its label.
func TestForms(t *testing.T) {
	count := 0
	for name, c := range corpus(t) {
		want, ds := compile.Compile(c.in)
		if ds.HasErrors() {
			continue
		}
		count++
		for _, form := range forms {
			t.Run(name+form.ending, func(t *testing.T) {
				in := c.in
				in.Tree = otherForm(t, c.in.Tree, form.ending, form.write)
				got, ds := compile.Compile(in)
				if ds.HasErrors() || got.List.String() != want.List.String() || got.Policy != want.Policy {
					t.Fatalf("it is\n%s%s\nwant\n%s", got.List, shown(ds), want.List)
				}
				if got, want := inventory(t, in.Tree), inventory(t, c.in.Tree); got != want {
					t.Errorf("the targets are\n%s\nwant\n%s", got, want)
				}
				checkPlaces(t, in.Tree, form.ending, got)
			})
		}
	}
	t.Logf("%d repositories in %d forms beside HCL", count, len(forms))
	if count < 30 {
		t.Errorf("%d repositories are too few to say that the forms are one", count)
	}
}

func checkPlaces(t *testing.T, tree repo.Tree, ending string, res compile.Result) {
	t.Helper()
	for _, s := range res.States {
		if strings.HasPrefix(s.Range.File, "stdlib/") || strings.Contains(s.Range.File, "/generated/") {
			continue
		}
		text, err := tree.ReadFile(s.Range.File)
		if err != nil || !strings.HasSuffix(s.Range.File, strings.TrimPrefix(ending, ".fettle")) {
			t.Errorf("%s is at %s: %v", s.ID, s.Range, err)
			continue
		}
		lines := strings.Split(string(text), "\n")
		line := []rune(lines[s.Range.Start.Line-1])
		label := strings.Trim(string(line[s.Range.Start.Column-1:]), `"`)
		if strings.HasSuffix(ending, ".star") { // there the call is the place
			if kind, _, ok := strings.Cut(label, "("); !ok || kind != "state" && !strings.Contains(s.ID, kind) {
				t.Errorf("%s is at %s: %s", s.ID, s.Range, string(line))
			}
			continue
		}
		if end := strings.IndexAny(label, `":\\`); end > 0 {
			label = label[:end]
		}
		if !strings.Contains(s.ID, label) {
			t.Errorf("%s is at %s: %s", s.ID, s.Range, string(line))
		}
	}
	for _, s := range res.List {
		file, _, _ := strings.Cut(s.Source, ":")
		if _, err := tree.Stat(file); err != nil {
			t.Errorf("%s has the source %s", s, s.Source)
		}
	}
}
