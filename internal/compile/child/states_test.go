package child

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/query"
)

// States from a child are accepted only within their limits.
func TestStatesAreChecked(t *testing.T) {
	good := query.DeclaredState{Directory: "modules/web", Kind: "file", Names: []string{"/etc/motd"}, File: "a", Line: 1}
	long := strings.Repeat("x", query.MaxStateName+1)
	change := func(f func(*query.DeclaredState)) []query.DeclaredState {
		bad := good
		f(&bad)
		return []query.DeclaredState{bad}
	}
	read := func(list []query.DeclaredState) error {
		w := &writer{}
		writeDocument(w, list)
		r := &reader{b: w.b}
		readDeclaredStates(r)
		return r.end()
	}
	if err := read([]query.DeclaredState{good, good}); err != nil {
		t.Error(err)
	}
	for name, list := range map[string][]query.DeclaredState{
		"a kind":      change(func(s *query.DeclaredState) { s.Kind = long }),
		"a name":      change(func(s *query.DeclaredState) { s.Names = []string{"a", long} }),
		"a directory": change(func(s *query.DeclaredState) { s.Directory = strings.Repeat(long, 20) }),
		"a file":      change(func(s *query.DeclaredState) { s.File = strings.Repeat(long, 20) }),
		"a line":      change(func(s *query.DeclaredState) { s.Line = -1 }),
		"many names":  change(func(s *query.DeclaredState) { s.Names = make([]string, query.MaxStateNames+1) }),
		"many":        make([]query.DeclaredState, query.MaxStates+1),
	} {
		if read(list) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
