package verdicts

import (
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// Lines returns trees as up to limit lines of text, and the number of omitted lines. Members are indented. If not all
// lines fit, it first omits scopes that are ready or empty, unless they contain a scope with another verdict.
//
//	room/north failed: cluster/web is failed
//	  cluster/web failed: the check formed succeeds on 1 of 3 targets
func Lines(trees []Tree, limit int) (lines []string, omitted int) {
	all := appendLines(nil, trees, "", func(Tree) bool { return true })
	lines = all
	if len(all) > limit {
		lines = appendLines(nil, trees, "", troubled)
	}
	lines = lines[:min(len(lines), limit)]
	return lines, len(all) - len(lines)
}

// troubled reports whether a scope or one of its parts is neither ready nor empty.
func troubled(t Tree) bool {
	if v := document.Verdict(t.State); v != document.VerdictReady && v != document.VerdictEmpty {
		return true
	}
	for _, part := range t.Parts {
		if troubled(part) {
			return true
		}
	}
	return false
}

func appendLines(lines []string, trees []Tree, indent string, keep func(Tree) bool) []string {
	for _, t := range trees {
		if !keep(t) {
			continue
		}
		line := indent + t.Name + " " + t.State
		if t.Text != "" {
			line += ": " + strings.ReplaceAll(t.Text, "\n", " ")
		}
		lines = appendLines(append(lines, line), t.Parts, indent+"  ", keep)
	}
	return lines
}
