package source

import (
	"fettle.dev/fettle/internal/diag"
)

// Finish adds source lines to diagnostics and sorts them by place.
func Finish(p *Program, ds diag.List) diag.List {
	ds = p.WithLines(ds)
	ds.Sort()
	return ds
}

// WithLines adds source lines to diagnostics. None of them repeats a secret.
func (p *Program) WithLines(ds diag.List) diag.List {
	ds = p.Secrets.Masked(ds)
	for i, d := range ds {
		if src, ok := p.Sources[d.Range.File]; ok && d.Line == "" {
			ds[i] = d.WithLine(src)
		}
	}
	return ds
}
