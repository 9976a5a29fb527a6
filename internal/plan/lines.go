package plan

import (
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// sourceRange parses "file:line".
func sourceRange(source string) diag.Range {
	i := strings.LastIndexByte(source, ':')
	if i < 0 {
		return diag.Range{File: source}
	}
	n, err := strconv.Atoi(source[i+1:])
	if err != nil {
		return diag.Range{File: source}
	}
	return diag.Range{File: source[:i], Start: diag.Pos{Line: n, Column: 1}}
}

// parse parses a canonical line, which was valid when it was stored.
func parse(line string) step.Step {
	l, _ := step.Parse("", []byte(line))
	if len(l) != 1 {
		return step.Step{}
	}
	return l[0]
}
