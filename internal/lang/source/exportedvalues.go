package source

import (
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/lang/syntax"
)

// GivenTables returns the exported values of the tree, with the errors of their file.
func (p *Program) GivenTables() *given {
	g := &p.given
	if g.done {
		return g
	}
	g.done = true
	at := diag.Range{File: exported.File}
	text, err := p.Tree.ReadFile(exported.File)
	if errors.Is(err, fs.ErrNotExist) {
		return g
	}
	if err == nil {
		g.tables, err = exported.Parse(text)
	}
	if err != nil {
		g.tables, g.Errors = nil, diag.List{diag.Errorf(at, "Bad file of exported values",
			"%s Hubs and agents write this file. To write it yourself, run: fettle export list --snapshot.",
			syntax.Sentence(err))}
	}
	g.Known = true
	return g
}

func (g *given) Table(e *Exported) *exported.Table {
	for i, t := range g.tables {
		if t.Module == e.Module && t.Output == e.Output {
			return &g.tables[i]
		}
	}
	return nil
}
