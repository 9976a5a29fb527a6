package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/query"
)

// JoinWords joins the words that are not empty with blanks.
func JoinWords(words ...string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// Addresses counts addresses: "1 address", "3 addresses".
func Addresses(n int) string {
	if n == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", n)
}

// SortedNames returns the keys of a map, sorted.
func SortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// WordsText returns a command for users, with quotes around words with blanks.
func WordsText(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		if out[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\|&;<>()$`*?") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// PlaceText is the place of a declaration as FILE:LINE.
func PlaceText(r diag.Range) string { return fmt.Sprintf("%s:%d", r.File, r.Start.Line) }

// TargetNames returns the names of targets in their order.
func TargetNames(list []query.Target) []string {
	out := make([]string, 0, len(list))
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

// FileExists is for flags and arguments that can be a path.
func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
