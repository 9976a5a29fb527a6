package source

import (
	"path"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/repo"
)

// parseDirectory reads the configuration files of a directory, in the order of their names.
func (p *Program) parseDirectory(f *Directory, top bool) (*Body, diag.List) {
	return p.parseFiles(f, "", top)
}

// parseFiles is like parseDirectory, but messages name the files with a prefix.
func (p *Program) parseFiles(f *Directory, prefix string, top bool) (*Body, diag.List) {
	b := NewBody(f)
	entries, err := f.ReadDir(".")
	if err != nil {
		return b, diag.List{diag.Errorf(diag.Range{File: f.Path}, "Directory cannot be read", "%s", syntax.Sentence(err))}
	}
	ps := &parser{prog: p, body: b, top: top}
	for _, e := range entries {
		form := formOf(path.Base(e.Path))
		if form == noForm {
			continue
		}
		if e.Type == repo.Symlink {
			ps.Errorf(diag.Range{File: prefix + f.Source(e.Path)}, "File is a link",
				"fettle does not follow symbolic links in a repository. Replace the link with the file.")
			continue
		}
		if e.Type != repo.File {
			continue
		}
		src, err := f.ReadFile(e.Path)
		name := prefix + f.Source(e.Path)
		if err != nil {
			ps.Errorf(diag.Range{File: name}, "File cannot be read", "%s", syntax.Sentence(err))
			continue
		}
		b.Files = append(b.Files, name)
		ps.file(form, name, src)
	}
	ps.checkActions()
	ps.checkCommands()
	return b, ps.List
}
