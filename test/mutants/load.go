package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// target is one package whose code is broken, loaded without its tests.
type target struct {
	root      string // of the module, absolute
	directory string // relative to root
	pkg       *packages.Package
	files     map[string]*ast.File // by name relative to root
}

// load reads and checks a package. Its syntax must be right.
func load(root, directory string) (*target, error) {
	found, err := packages.Load(&packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
		Env:  append(os.Environ(), "GOWORK=off"),
	}, "./"+directory)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || len(found[0].Errors) > 0 {
		return nil, fmt.Errorf("cannot load %s: give the directory of one package that compiles", directory)
	}
	t := &target{root: root, directory: directory, pkg: found[0], files: map[string]*ast.File{}}
	for _, f := range t.pkg.Syntax {
		rel, err := filepath.Rel(root, t.pkg.Fset.Position(f.Pos()).Filename)
		if err != nil {
			return nil, err
		}
		t.files[filepath.ToSlash(rel)] = f
	}
	return t, nil
}

// mutants lists what can be broken.
func (t *target) mutants() ([]mutant, error) {
	var out []mutant
	for _, f := range t.pkg.Syntax {
		name := t.pkg.Fset.Position(f.Pos()).Filename
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(t.root, name)
		if err != nil {
			return nil, err
		}
		out = append(out, find(t.pkg, f, filepath.ToSlash(rel), src)...)
	}
	seen := map[string]int{}
	for i, m := range out {
		name := m.name()
		out[i].repeat = seen[name]
		seen[name]++
	}
	return out, nil
}

// edited gives the file of a mutant as it is with it.
func (t *target) edited(m mutant) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(t.root, m.file))
	if err != nil {
		return nil, err
	}
	if m.end > len(src) || string(src[m.start:m.end]) != m.old {
		return nil, fmt.Errorf("cannot break %s: it has changed since it was read; run again", m.file)
	}
	out := append([]byte{}, src[:m.start]...)
	return append(append(out, m.text...), src[m.end:]...), nil
}

// compiles returns true if the package compiles with this text instead of a file. Only the text is
// checked in full, because an edit inside of a function changes nothing for other files.
func (t *target) compiles(file string, text []byte) bool {
	broken, err := parser.ParseFile(t.pkg.Fset, filepath.Join(t.root, file), text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	extra, err := t.stubFile()
	if err != nil {
		return false
	}
	files := []*ast.File{broken, extra}
	for name, f := range t.files {
		if name != file {
			files = append(files, withoutBodies(f))
		}
	}
	good := true
	conf := types.Config{Importer: imported(t.pkg.Imports), Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) || broken.FileStart <= e.Pos && e.Pos <= broken.FileEnd {
			good = false
		}
	}}
	_, _ = conf.Check(t.pkg.PkgPath, t.pkg.Fset, files, nil)
	return good
}

// withoutBodies returns a file whose functions are only declared.
func withoutBodies(f *ast.File) *ast.File {
	out := *f
	out.Decls = nil
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			bare := *fn
			bare.Body, d = nil, &bare
		}
		out.Decls = append(out.Decls, d)
	}
	return &out
}

// imported are packages by path.
type imported map[string]*packages.Package

// Import gives a package that was loaded before.
func (m imported) Import(path string) (*types.Package, error) {
	if p, ok := m[path]; ok && p.Types != nil {
		return p.Types, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("cannot find " + path)
}
