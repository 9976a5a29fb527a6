package arch

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "fettle.dev/fettle"

// pkg is one package of the module without its tests.
type pkg struct {
	path      string   // relative to the module: internal/step
	own       []string // imports of this module, relative, sorted
	foreign   []string // all other imports, sorted
	files     []*ast.File
	fset      *token.FileSet
	info      *types.Info
	directory string // of the module, absolute
}

// project reads the packages of this project once for all tests.
var project = sync.OnceValues(func() ([]*pkg, error) { return read("../..") })

// loadProject returns the packages of this project, their tests left out.
func loadProject(t *testing.T) []*pkg {
	t.Helper()
	pkgs, err := project()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// load reads all packages of the module in a directory, their tests left out.
func load(t *testing.T, dir string) []*pkg {
	t.Helper()
	pkgs, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// read is an error if a package does not compile: nothing can be said about it.
func read(dir string) ([]*pkg, error) {
	directory, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	found, err := packages.Load(&packages.Config{
		Dir:  directory,
		Mode: packages.NeedName | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Env:  append(os.Environ(), "GOWORK=off"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	var pkgs []*pkg
	for _, p := range found {
		for _, e := range p.Errors {
			err = errors.Join(err, fmt.Errorf("%s does not compile: %w", p.PkgPath, e))
		}
		if len(p.Syntax) > 0 { // else it is all tests
			pkgs = append(pkgs, newPkg(p, directory))
		}
	}
	return pkgs, err
}

func newPkg(p *packages.Package, directory string) *pkg {
	out := &pkg{path: relative(p.PkgPath), files: p.Syntax, fset: p.Fset, info: p.TypesInfo, directory: directory}
	for path := range p.Imports {
		if strings.HasPrefix(path, module+"/") {
			out.own = append(out.own, relative(path))
		} else {
			out.foreign = append(out.foreign, path)
		}
	}
	slices.Sort(out.own)
	slices.Sort(out.foreign)
	return out
}

func relative(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// file is a file's name relative to the module.
func (p *pkg) file(pos token.Pos) string {
	name := p.fset.Position(pos).Filename
	if rel, err := filepath.Rel(p.directory, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return name
}

// report fails the test with what was found.
func report(t *testing.T, broken []string) {
	t.Helper()
	slices.Sort(broken)
	for _, b := range slices.Compact(broken) {
		t.Error(b)
	}
}

// allowed is an exception from a law, with the reason why it is right.
type allowed struct{ name, reason string }

// excepted tells whether an exception stands for a package or file, and notes
// that it was needed.
func excepted(list []allowed, name string, needed map[string]bool) bool {
	for _, a := range list {
		if covers(a.name, name) {
			needed[a.name] = true
			return true
		}
	}
	return false
}

// stale tells which exceptions are needed no longer.
func stale(law string, list []allowed, needed map[string]bool) []string {
	var out []string
	for _, a := range list {
		if !needed[a.name] {
			out = append(out, law+": the exception for "+a.name+" is needed no longer: take its line out")
		}
	}
	return out
}
