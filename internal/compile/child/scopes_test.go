package child

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// parts are scopes, and parts of them.
type parts struct {
	all   *query.Scopes
	scope *query.Scope
	check *query.ScopeCheck
	task  *query.ScopeTask
}

// Scopes from a child are accepted only if a repository can declare them. Each case changes one value.
func TestScopesAreChecked(t *testing.T) {
	read := func(s query.Scopes) (query.Scopes, error) {
		w := &writer{}
		writeDocument(w, s)
		r := &reader{b: w.b}
		got := readScopes(r)
		return got, r.end()
	}
	if got, err := read(validScopes()); err != nil || !reflect.DeepEqual(got, validScopes()) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, change := range invalidScopes() {
		s := validScopes()
		x := &s.Scopes[0]
		change(parts{&s, x, &x.Checks[0], &x.Tasks[0]})
		if got, err := read(s); err == nil || len(got.Scopes) > 0 {
			t.Errorf("%s: %+v, and no error", name, got)
		}
	}
}

// validScopes returns scopes that a repository can declare.
func validScopes() query.Scopes {
	http := query.Probe{HTTP: "http://a/", Status: 200}
	return query.Scopes{
		Kinds: []query.ScopeKind{{Name: "cluster", Overlap: true, Empty: "empty"}, {Name: "rack", Empty: "failed"}},
		Scopes: []query.Scope{{Kind: "cluster", Name: "a", Targets: []string{"t", "u"}, MinMembers: 1,
			Checks: []query.ScopeCheck{{Name: "c", Probe: http, From: []string{"m"}, Outside: true, Quorum: "all", Every: 5,
				Timeout: 1, Digest: source.DigestOf(http)}},
			Tasks: []query.ScopeTask{{Name: "x", Command: []string{"a"}, Timeout: 1, RetryAfter: 1, OnUnknown: "verify",
				Verify: &http, After: []string{"check.c", "task.y"}, Digest: strings.Repeat("0", 64)},
				{Name: "y", Command: []string{"a"}, Timeout: 1, RetryAfter: 1, OnUnknown: "ask",
					Digest: strings.Repeat("0", 64)}}},
			{Kind: "rack", Name: "a", Scopes: []string{"cluster/a"}}}}
}

// invalidScopes returns changes of valid scopes, each to a value that no repository can declare.
func invalidScopes() map[string]func(parts) {
	return map[string]func(parts){
		"kind twice": func(p parts) {
			p.all.Kinds = append(p.all.Kinds, p.all.Kinds[0])
		},
		"kinds": func(p parts) {
			p.all.Kinds = make([]query.ScopeKind, source.MaxScopeKinds+2)
		},
		"verdict": func(p parts) {
			p.all.Kinds[0].Empty = "ready"
		},
		"scopes": func(p parts) {
			p.all.Scopes = slices.Repeat([]query.Scope{*p.scope}, source.MaxScopes+1)
		},
		"scope twice": func(p parts) {
			p.all.Scopes = append(p.all.Scopes, *p.scope)
		},
		"unknown kind": func(p parts) { p.scope.Kind = "room" },
		"name":         func(p parts) { p.scope.Name = "a/b" },
		"targets": func(p parts) {
			p.scope.Targets = []string{"u", "t"}
		},
		"members": func(p parts) { p.scope.MinMembers = -1 },
		"unknown member": func(p parts) {
			p.all.Scopes[1].Scopes = []string{"rack/b"}
		},
		"cycle": func(p parts) {
			p.all.Scopes[1].Scopes = []string{"rack/a"}
		},
		"checks": func(p parts) {
			p.scope.Checks = slices.Repeat([]query.ScopeCheck{*p.check}, 2)
		},
		"probe":      func(p parts) { p.check.TCP = "a:1" },
		"digest":     func(p parts) { p.check.Status = 201 },
		"quorum":     func(p parts) { p.check.Quorum = "0" },
		"every":      func(p parts) { p.check.Every = 0 },
		"time":       func(p parts) { p.check.Timeout = 301 },
		"fail_after": func(p parts) { p.check.FailAfter = -1 },
		"from":       func(p parts) { p.check.Outside = false },
		"tasks": func(p parts) {
			p.scope.Tasks = append(p.scope.Tasks, *p.task)
		},
		"command":  func(p parts) { p.task.Command = nil },
		"retries":  func(p parts) { p.task.Retries = 101 },
		"pause":    func(p parts) { p.task.RetryAfter = 0 },
		"timeout":  func(p parts) { p.task.Timeout = 0 },
		"effect":   func(p parts) { p.task.OnUnknown = "x" },
		"verify":   func(p parts) { p.task.Verify = nil },
		"after":    func(p parts) { p.task.After[0] = "check.x" },
		"itself":   func(p parts) { p.task.After[1] = "task.x" },
		"contents": func(p parts) { p.task.Digest = "" },
	}
}
