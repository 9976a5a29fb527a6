package lang

// LimitLoops changes how many elements the loops of a target may go through, for tests.
func (p *Program) LimitLoops(most int64) { p.loops.most = most }
