package syntax

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
