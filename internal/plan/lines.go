package plan

import (
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/diag"
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
