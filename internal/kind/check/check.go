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
		Name: "check", Main: "name", Free: true, Steps: func(s kind.State) (kind.Output,
			diag.List) {
			return steps(s, step.Check, "within")
		},
		Doc:   "A verification that runs after all other steps: one of http, tcp, exec, unit and file.",
		Attrs: append(attrs(), text("within", "time limit of all attempts; default: 10s")),
	}, {
		Name: "wait_for", Main: "name", Free: true, Steps: func(s kind.State) (kind.Output,
			diag.List) {
			return steps(s, step.Wait, "timeout")
		},
		Doc: "A wait at its place in the order, until one condition holds: http, tcp, exec, unit or file. Set its place " +
			"with after and before. It changes nothing, and a run without other changes does not wait. The run fails after " +
			"the timeout.",
		Attrs: append(attrs(), text("timeout", "time limit of all attempts; default: 5m")),
	}}
}

func text(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: cty.String, Doc: doc} }

// attrs are the common attributes of both kinds.
func attrs() []kind.Attr {
	return []kind.Attr{
		text("name", "name of the state; default: the label"),
		text("http", "URL that must answer"),
		{Name: "status", Type: cty.Number, Doc: "expected status; default: 200"},
		text("tcp", "host:port that must accept connections"),
		text("exec", "command that must succeed, split at blanks"),
		text("unit", "unit that must be active"),
		text("file", "path that must exist"),
		text("contains", "text that the answer, output or file must contain"),
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
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "No condition", "Set one of http, tcp, exec, unit and file.")}
	case len(given) > 1:
		return kind.Output{}, s.Errorf(given[1], "Several checks in one",
			"%s has one of http, tcp, exec, unit and file, and this state has %s. Declare a state for each.",
			diag.FirstOne(s.Kind), strings.Join(given, " and "))
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
