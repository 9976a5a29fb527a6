package lang

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Suggest returns " Did you mean "x"?" for the nearest existing name, a list of all names if there
// are few, or "".
func Suggest(given string, names []string) string {
	if near := Near(given, names); near != "" {
		return near
	}
	if len(names) > 0 && len(names) <= 8 {
		return " Available: " + strings.Join(slices.Sorted(slices.Values(names)), ", ") + "."
	}
	return ""
}

// Near returns " Did you mean "x"?" for the nearest existing name, or "". It is for messages that
// already list the names.
func Near(given string, names []string) string {
	best := diag.Nearest(given, names, len(given)/3+2)
	if best == "" {
		return ""
	}
	return " Did you mean \"" + best + "\"?"
}

// oneOf returns the name of a block with its article, for the beginning of a sentence.
func oneOf(block string) string {
	switch block {
	case "expect", "output", "action":
		return "An " + block
	case "enrolled":
		return "An enrolled target"
	case "needs":
		return "A needs block"
	case "exported":
		return "An exported block"
	case "ssh":
		return "An ssh block"
	}
	return "A " + block
}
