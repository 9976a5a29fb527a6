package compile_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

// formDirectories are the directories of a hand-written case, by the ending of their files.
var formDirectories = map[string]string{"yaml": ".yaml", "json": ".json", "tmpl": ".yaml.tmpl", "star": ".star"}

// TestHandWritten compiles repositories that are written by hand in each form. They are directories
// of one archive, and give the same list.
func TestHandWritten(t *testing.T) {
	files, _ := filepath.Glob("testdata/forms/*.txtar")
	if len(files) < 6 {
		t.Fatal("too few repositories", files)
	}
	for _, file := range files {
		c := readCase(t, file)
		in := c.in
		in.Tree = repo.Sub(c.in.Tree, "hcl")
		want, ds := compile.Compile(in)
		if ds.HasErrors() || len(want.List) == 0 {
			t.Fatalf("%s: %s", file, shown(ds))
		}
		for directory, ending := range formDirectories {
			t.Run(strings.TrimSuffix(filepath.Base(file), "txtar")+directory, func(t *testing.T) {
				in := c.in
				in.Tree = repo.Sub(c.in.Tree, directory)
				got, ds := compile.Compile(in)
				if ds.HasErrors() || got.List.String() != want.List.String() || got.Policy != want.Policy {
					t.Fatalf("it is\n%s%s\nwant\n%s", got.List, shown(ds), want.List)
				}
				if got, want := inventory(t, in.Tree), inventory(t, repo.Sub(c.in.Tree, "hcl")); got != want {
					t.Errorf("the targets are\n%s\nwant\n%s", got, want)
				}
				checkPlaces(t, in.Tree, ending, got)
			})
		}
	}
}

// inventory returns the description of the targets, strategies and scopes, without places.
func inventory(t *testing.T, tree repo.Tree) string {
	t.Helper()
	list, ds := compile.Targets(tree)
	if ds.HasErrors() {
		t.Fatal(shown(ds))
	}
	for i := range list {
		list[i].Range = diag.Range{}
		placeless(list[i].Element)
		for j := range list[i].Uses { // shared by targets, and cleared for all of them
			u := &list[i].Uses[j]
			placeless(u.Element)
			for k := range u.From {
				u.From[k].Range = diag.Range{}
			}
			for k := range u.Needs {
				u.Needs[k].Range = diag.Range{}
			}
			for k := range u.Exported {
				u.Exported[k].Range = diag.Range{}
			}
		}
	}
	var uses [][]query.Use
	for _, t := range list {
		uses = append(uses, t.Uses)
	}
	strategies, ds := compile.Strategies(tree)
	if ds.HasErrors() {
		t.Fatal(shown(ds))
	}
	scopes, ds := compile.Scopes(tree)
	if ds.HasErrors() {
		t.Fatal(shown(ds))
	}
	for i := range scopes.Scopes {
		s := &scopes.Scopes[i]
		s.Source = ""
		placeless(s.Element)
		for j := range s.Checks {
			s.Checks[j].Source = ""
		}
	}
	text, err := json.MarshalIndent([]any{list, uses, strategies, scopes}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func placeless(e *query.Element) {
	if e != nil {
		e.Range = diag.Range{}
	}
}
