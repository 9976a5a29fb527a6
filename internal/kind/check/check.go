// Package check is the kinds check, a verification after the run, and wait_for,
// a wait in the middle of one.
//
//	check "answers" {
//	  http   = "http://127.0.0.1/"
//	  status = 200
//	  within = "30s"
//	}
//	wait_for "database" {
//	  tcp     = "db1.example.org:5432"
//	  timeout = "10m"
//	  before  = [exec.migrate]
//	}
package check

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kinds gives check and wait_for. The value is fresh at each call.
func Kinds() []kind.Kind {
	return []kind.Kind{{
		Name: "check", Main: "name", Free: true, Steps: func(s kind.State) (kind.Output, diag.List) { return steps(s, step.Check, "within") },
		Doc:   "A verification that runs after everything else: one of http, tcp, exec, unit and file.",
		Attrs: append(attrs(), text("within", "tried again until then; 10s when left out")),
	}, {
		Name: "wait_for", Main: "name", Free: true, Steps: func(s kind.State) (kind.Output, diag.List) { return steps(s, step.Wait, "timeout") },
		Doc:   "A wait in its turn, until something holds that others bring about: one of http, tcp, exec, unit and file. Say with after and before between what. It changes nothing, and a run with nothing else to do does not wait; when its time is over the run fails.",
		Attrs: append(attrs(), text("timeout", "tried again until then; 5m when left out")),
	}}
}

func text(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: cty.String, Doc: doc} }

// attrs are those that both kinds have.
func attrs() []kind.Attr {
	return []kind.Attr{
		text("name", "how it is known; the label when left out"),
		text("http", "URL that must answer"),
		{Name: "status", Type: cty.Number, Doc: "status expected; 200 when left out"},
		text("tcp", "host:port that must accept"),
		text("exec", "command that must succeed, split at blanks"),
		text("unit", "unit that must be active"),
		text("file", "path that must be there"),
		text("contains", "text that the answer, output or file must hold"),
	}
}

// steps makes the step of either kind; limit is the attribute that ends it.
func steps(s kind.State, verb step.Verb, limit string) (kind.Output, diag.List) {
	var attrs []step.Attr
	var given []string
	for _, name := range []string{"http", "status", "tcp", "exec", "unit", "file", "contains", limit} {
		if !s.Given(name) {
			continue
		}
		v := s.Attrs[name]
		if name == "status" {
			attrs = append(attrs, step.Attr{Key: name, Value: v.AsBigFloat().Text('f', -1)})
			continue
		}
		attrs = append(attrs, step.Attr{Key: name, Value: unit(name, v.AsString())})
		if name != "contains" && name != limit {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "Nothing to look at", "Give one of http, tcp, exec, unit and file.")}
	case len(given) > 1:
		return kind.Output{}, s.Errorf(given[1], "Several checks in one", "%s takes one of http, tcp, exec, unit and file, and here are %s. Write a state for each.", diag.FirstOne(s.Kind), strings.Join(given, " and "))
	}
	return s.One(verb, []string{s.Str("name")}, attrs...)
}

// unit gives a unit's name its suffix.
func unit(attr, v string) string {
	if attr == "unit" && !strings.Contains(v, ".") {
		return v + ".service"
	}
	return v
}
