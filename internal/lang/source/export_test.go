package source

import (
	"fettle.dev/fettle/internal/lang/syntax"
)

// LimitLoops changes how many elements the loops of a target may go through, for tests.
func (p *Program) LimitLoops(most int64) { p.Loops.Most = most }

// ParsedLibrary returns the parsed files of the library, for tests.
func (p *Program) ParsedLibrary() []string { return syntax.Names(p.library.parsed) }
