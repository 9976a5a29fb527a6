// Package check is the kind check: a verification after the run.
//
//	check "answers" {
//	  http   = "http://127.0.0.1/"
//	  status = 200
//	  within = "30s"
//	}
package check

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	text := func(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: cty.String, Doc: doc} }
	return kind.Kind{
		Name: "check", Main: "name", Steps: steps,
		Doc: "A verification that runs after everything else: one of http, tcp, exec, unit and file.",
		Attrs: []kind.Attr{
			text("name", "how it is known; the label when left out"),
			text("http", "URL that must answer"),
			{Name: "status", Type: cty.Number, Doc: "status expected; 200 when left out"},
			text("tcp", "host:port that must accept"),
			text("exec", "command that must succeed, split at blanks"),
			text("unit", "unit that must be active"),
			text("file", "path that must be there"),
			text("contains", "text that the answer, output or file must hold"),
			text("within", "tried again until then; 10s when left out"),
		},
	}
}

func steps(s kind.State) (kind.Output, diag.List) {
	var attrs []step.Attr
	var given []string
	for _, name := range []string{"http", "status", "tcp", "exec", "unit", "file", "contains", "within"} {
		if !s.Given(name) {
			continue
		}
		v := s.Attrs[name]
		if name == "status" {
			attrs = append(attrs, step.Attr{Key: name, Value: v.AsBigFloat().Text('f', -1)})
			continue
		}
		attrs = append(attrs, step.Attr{Key: name, Value: unit(name, v.AsString())})
		if name != "contains" && name != "within" {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "Check of nothing", "Give one of http, tcp, exec, unit and file.")}
	case len(given) > 1:
		return kind.Output{}, s.Errorf(given[1], "Several checks in one", "A check takes one of http, tcp, exec, unit and file, and here are %s. Write a check for each.", strings.Join(given, " and "))
	}
	return s.One(step.Check, []string{s.Str("name")}, attrs...)
}

// unit gives a unit's name its suffix.
func unit(attr, v string) string {
	if attr == "unit" && !strings.Contains(v, ".") {
		return v + ".service"
	}
	return v
}
