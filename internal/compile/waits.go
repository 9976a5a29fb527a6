package compile

import (
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
	"fettle.dev/fettle/internal/step"
)

// undeclaredWaits returns an error for each step that names a barrier or a signal that the repository does not declare.
func undeclaredWaits(p *source.Program, l step.List) (ds diag.List) {
	var barriers, signals []string
	for _, b := range p.Barriers {
		barriers = append(barriers, b.Name)
	}
	for _, s := range p.Signals {
		signals = append(signals, s.Name)
	}
	for _, s := range l {
		if s.Verb != step.Wait {
			continue
		}
		for _, key := range []string{"barrier", "signal", "send"} {
			name, ok := s.Lookup(key)
			what, known := "signal", signals
			if key == "barrier" {
				what, known = "barrier", barriers
			}
			if ok && !slices.Contains(known, name) {
				ds = append(ds, diag.Errorf(rangeOf(s.Source), "Unknown "+what,
					"The repository does not declare the %s %q. Add a %s block to fettle.hcl.%s", what, name, what,
					syntax.Near(name, known)))
			}
		}
	}
	return ds
}

// rangeOf returns the line of a source "file:line" of a step.
func rangeOf(source string) (out diag.Range) {
	file, line, _ := strings.Cut(source, ":")
	out.File = file
	if n, err := strconv.Atoi(line); err == nil {
		out.Start, out.End = diag.Pos{Line: n, Column: 1}, diag.Pos{Line: n, Column: 1}
	}
	return out
}
