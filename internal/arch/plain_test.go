package arch

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlainPackages: each package that make test runs without the race detector tests the source or the
// documents, only the program, or code that starts no goroutine.
func TestPlainPackages(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "\nplain = ")
	list, _, ended := strings.Cut(list, "\n\n")
	if !found || !ended {
		t.Fatal("the Makefile has no list plain")
	}
	names := strings.Fields(strings.ReplaceAll(list, "\\\n", " "))
	if len(names) < 10 {
		t.Errorf("the list has only %d packages", len(names))
	}
	for _, name := range names {
		path := strings.TrimPrefix(name, "./")
		dir := strings.TrimSuffix(path, "/...")
		if why := whyRaced(t, dir); why != "" {
			t.Errorf("%s runs without the race detector, but %s", name, why)
		}
	}
	for dir, racy := range map[string]bool{"internal/plan": false, "test/crash": false, "internal/apply": true,
		"test/flood": true} {
		if why := whyRaced(t, dir); (why != "") != racy {
			t.Errorf("%s: %q", dir, why)
		}
	}
}

// whyRaced tells why the tests of a directory need the race detector; "" if they do not.
func whyRaced(t *testing.T, dir string) string {
	switch {
	case dir == "internal/arch" || dir == "examples":
		return "" // the source and the documents
	case strings.HasPrefix(dir, "test/"):
		if imp := importOfInternal(t, dir); imp != "" {
			return "it runs code of " + imp
		}
		return ""
	case covering(pure, dir, "") == "" && covering(pure, dir+"/x", "") == "":
		return "it is not pure"
	}
	return ""
}

// importOfInternal returns a package of fettle that the files of a directory import, tests included.
func importOfInternal(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); strings.HasPrefix(path, module+"/internal/") {
				return path
			}
		}
	}
	return ""
}
