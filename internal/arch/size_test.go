package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An exception is given back only well below the ceiling, so that a line more or
// less does not move it to and fro.
const (
	maxFile     = 400 // lines of a file
	maxFunction = 60  // lines of a function, without its comment
)

// longFiles are those above the ceiling, tests included.
var longFiles = []allowed{}

// longFunctions are those above the ceiling, as package.Function or
// package.Type.Method.
var longFunctions = []allowed{}

// function is one function of the house with its length.
type function struct {
	name  string
	file  string
	lines int
}

// functions lists them, the longest first.
func functions(pkgs []*pkg) []function {
	var out []function
	for _, p := range pkgs {
		for _, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					lines := p.fset.Position(fn.End()).Line - p.fset.Position(fn.Pos()).Line + 1
					out = append(out, function{p.path + "." + funcName(fn), p.file(fn.Pos()), lines})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.lines, a.lines), cmp.Compare(a.name, b.name))
	})
	return out
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// checkFunctions: a function that does one thing is short.
func checkFunctions(pkgs []*pkg, exceptions []allowed, whole bool) []string {
	var broken []string
	needed := map[string]bool{}
	for _, f := range functions(pkgs) {
		listed := f.lines > maxFunction*3/4 && excepted(exceptions, f.name, needed)
		if f.lines > maxFunction && !listed {
			broken = append(broken,
				fmt.Sprintf("%s in %s has %d lines, more than %d: split it, or give the reason in size_test.go", f.name, f.file,
					f.lines, maxFunction))
		}
	}
	if whole {
		broken = append(broken, stale("function length", exceptions, needed)...)
	}
	return broken
}

// longest describes the n longest functions, and how long all of them are.
func longest(pkgs []*pkg, n int) string {
	all := functions(pkgs)
	var b strings.Builder
	for _, f := range all[:min(n, len(all))] {
		fmt.Fprintf(&b, "%4d  %s\n", f.lines, f.name)
	}
	if len(all) > 0 {
		fmt.Fprintf(&b, "%d functions: median %d lines, p90 %d\n", len(all), all[len(all)/2].lines, all[len(all)/10].lines)
	}
	return b.String()
}

// checkFiles: a file that is about one thing is short. It reads every Go file
// below a directory, tests included.
func checkFiles(dir string, exceptions []allowed, whole bool) []string {
	var broken []string
	needed := map[string]bool{}
	err := walk(dir, ".go", func(name string, text []byte) {
		lines := strings.Count(string(text), "\n")
		listed := lines > maxFile*3/4 && excepted(exceptions, name, needed)
		if lines > maxFile && !listed {
			broken = append(broken, fmt.Sprintf("%s has %d lines, more than %d: split it, or give the reason in size_test.go",
				name, lines, maxFile))
		}
	})
	if err != nil {
		return []string{err.Error()}
	}
	if whole {
		broken = append(broken, stale("file length", exceptions, needed)...)
	}
	return broken
}

// walk calls f for every file of the project with this ending, with its
// name relative to dir. Build output, caches and test data are left out.
func walk(dir, ending string, f func(name string, text []byte)) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && path != dir
		if d.IsDir() && (hidden || slices.Contains([]string{"testdata", "dist", "bin"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ending) {
			return nil
		}
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		f(filepath.ToSlash(rel), text)
		return err
	})
}
