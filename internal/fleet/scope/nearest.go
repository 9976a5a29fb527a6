package scope

import (
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Nearest returns the ID of the scope that a user may have meant with an unknown one: a scope with this name if the
// kind is missing or another one, otherwise the most similar ID. It returns "" if there is none.
func Nearest(written string, ids []string) string {
	_, name, ok := strings.Cut(written, "/")
	if !ok {
		name = written
	}
	if name == "" {
		return ""
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if _, has, _ := strings.Cut(id, "/"); has == name && id != written {
			return id
		}
	}
	if ok {
		return diag.Nearest(written, ids, 3)
	}
	byName := map[string]string{}
	for _, id := range slices.Backward(slices.Sorted(slices.Values(ids))) {
		_, has, _ := strings.Cut(id, "/")
		byName[has] = id
	}
	names := make([]string, 0, len(byName))
	for n := range byName {
		names = append(names, n)
	}
	return byName[diag.Nearest(name, names, 3)]
}
