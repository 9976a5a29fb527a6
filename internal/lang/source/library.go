package source

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
)

// loadStdlib indexes which file defines which kind. Each define is at the beginning of a line.
func (p *Program) loadStdlib(fsys fs.FS) diag.List {
	p.library = library{directory: p.newDirectory(FSTree(fsys), "."), file: map[string]string{},
		defines: map[string]*Define{}, parsed: map[string]diag.List{}}
	p.library.directory.builtin = true
	entries, err := p.library.directory.ReadDir(".")
	if err != nil {
		return diag.List{diag.Errorf(diag.Range{File: "stdlib"}, "Directory cannot be read", "%s", syntax.Sentence(err))}
	}
	var ds diag.List
	for _, e := range entries {
		if formOf(path.Base(e.Path)) != hclForm {
			continue
		}
		src, err := p.library.directory.ReadFile(e.Path)
		if err != nil {
			ds = append(ds, diag.Errorf(diag.Range{File: "stdlib/" + e.Path}, "File cannot be read", "%s", syntax.Sentence(err)))
		}
		for line := range strings.Lines(string(src)) {
			rest, ok := strings.CutPrefix(line, `define "`)
			name, _, _ := strings.Cut(rest, `"`)
			switch {
			case ok && p.library.file[name] != "":
				ds = append(ds, diag.Errorf(diag.Range{File: "stdlib/" + e.Path}, "Kind defined twice",
					"The kind %q is already defined in %s. Rename or remove one of the two.", name, p.library.file[name]))
			case ok:
				p.library.file[name] = e.Path
			}
		}
	}
	return ds
}

// libraryKind returns a kind of the library, nil if the library does not have it, and the errors of
// its file.
func (p *Program) libraryKind(kind string) (*Define, diag.List) {
	file := p.library.file[kind]
	if file == "" {
		return nil, nil
	}
	ds, ok := p.library.parsed[file]
	if !ok {
		ds = p.parseLibrary(file)
		p.library.parsed[file] = ds
	}
	return p.library.defines[kind], slices.Clone(ds)
}

// parseLibrary reads all kinds of a file.
func (p *Program) parseLibrary(file string) diag.List {
	src, err := p.library.directory.ReadFile(file)
	if err != nil {
		return diag.List{diag.Errorf(diag.Range{File: "stdlib/" + file}, "File cannot be read", "%s", syntax.Sentence(err))}
	}
	ps := &parser{prog: p, body: NewBody(p.library.directory)}
	ps.file(hclForm, "stdlib/"+file, src)
	for name, d := range ps.body.Defines {
		d.Stdlib = true
		p.library.defines[name] = d
	}
	for _, d := range ps.body.Decls {
		ps.Errorf(d.Range, "State in the standard library", "The standard library can contain only define blocks.")
	}
	return p.WithLines(ps.List)
}
