package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

// TestEnvironmentsThatAreRefused: a host and a hub refuse values that no environment can have.
func TestEnvironmentsThatAreRefused(t *testing.T) {
	full := func() *fleet.Environment {
		return &fleet.Environment{Name: "review-7", Parent: "staging", Domain: "review.example.org",
			Vars: map[string]string{"replicas": "1", "text": "${x} \n"}}
	}
	var none *fleet.Environment
	if full().Check() != nil || none.Check() != nil {
		t.Error(full().Check(), none.Check())
	}
	for want, change := range map[string]func(*fleet.Environment){
		"as the name of an environment": func(e *fleet.Environment) { e.Name = "Review 7" },
		"as the parent":                 func(e *fleet.Environment) { e.Parent = "" },
		"as the domain":                 func(e *fleet.Environment) { e.Domain = "${x}" },
		"51 variables": func(e *fleet.Environment) {
			for i := range fleet.MaxEnvironmentVars - 1 {
				e.Vars[fmt.Sprint("v", i)] = ""
			}
		},
		"as the name of a variable": func(e *fleet.Environment) { e.Vars["a b"] = "" },
		"UTF-8 without NUL":         func(e *fleet.Environment) { e.Vars["a"] = "\xff" },
		"16 KiB": func(e *fleet.Environment) {
			e.Vars["a"] = strings.Repeat("x", fleet.MaxEnvironmentBytes)
		},
	} {
		e := full()
		change(e)
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestEnvironmentInAssignments: an assignment with another environment is another assignment.
func TestEnvironmentInAssignments(t *testing.T) {
	with := func(e *fleet.Environment) fleet.Assignment {
		a := sample()
		a.Environment = e
		return a
	}
	in := &fleet.Environment{Name: "review-7", Parent: "staging", Vars: map[string]string{"replicas": "1"}}
	again, err := fleet.ParseAssignment(with(in).Marshal())
	if err != nil || !again.Same(with(in)) {
		t.Errorf("%+v %v", again.Environment, err)
	}
	for _, other := range []*fleet.Environment{nil, {Name: "review-8", Parent: "staging", Vars: in.Vars},
		{Name: "review-7", Parent: "production", Vars: in.Vars}, {Name: "review-7", Parent: "staging"},
		{Name: "review-7", Parent: "staging", Vars: in.Vars, Domain: "a.org"}} {
		if with(in).Same(with(other)) || other.Text() == in.Text() {
			t.Errorf("%+v is the same", other)
		}
	}
}

// TestTestsForInAssignments: an assignment can name environments whose checks the target tests.
func TestTestsForInAssignments(t *testing.T) {
	with := func(all ...fleet.Environment) fleet.Assignment {
		a := sample()
		a.TestsFor = all
		return a
	}
	ok := with(fleet.Environment{Name: "a", Parent: "p", Domain: "a.org"}, fleet.Environment{Name: "b", Parent: "p"})
	again, err := fleet.ParseAssignment(ok.Marshal())
	if err != nil || !again.Same(ok) || again.Same(sample()) || again.Same(with(ok.TestsFor[0])) {
		t.Errorf("%+v %v", again.TestsFor, err)
	}
	for _, bad := range [][]fleet.Environment{{ok.TestsFor[1], ok.TestsFor[0]}, {ok.TestsFor[0], ok.TestsFor[0]},
		{{Name: "a b", Parent: "p"}}, {{Name: "a", Parent: "p", Vars: map[string]string{"a": "b"}}}} {
		if _, err := fleet.ParseAssignment(with(bad...).Marshal()); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
