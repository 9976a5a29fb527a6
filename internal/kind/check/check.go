// Package check has the kinds check, wait_for and send_signal. A check is a verification after the run. A wait_for
// waits in the middle of a run, and a send_signal sends a message for which states of other hosts wait.
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
	"slices"
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
			return steps(s, step.Check, "within", probes())
		},
		Doc:   "A verification that runs after all other steps: one of http, tcp, exec, unit and file.",
		Attrs: append(attrs(), text("within", "time limit of all attempts; default: 10s")),
	}, {
		Name: "wait_for", Main: "name", Free: true, Steps: func(s kind.State) (kind.Output,
			diag.List) {
			return waits(s)
		},
		Doc: "A wait at its place in the order, until one condition holds: http, tcp, exec, unit or file, or a barrier or " +
			"a signal of the fleet. Set its place with after and before. It changes nothing, and a run without other changes " +
			"does not wait. The run fails after the timeout.",
		Attrs: append(attrs(), text("barrier", "name of a barrier block, at which the host waits until it opens"),
			text("signal", "name of a signal block, which must have been sent"),
			kind.Attr{Name: "since", Type: cty.String, OneOf: []string{"run", "ever"},
				Doc: "whether only a signal that was sent since the begin of the run counts; default: ever"},
			text("timeout", "time limit of all attempts; default: 5m")),
	}, {
		Name: "send_signal", Main: "name", Free: true, Steps: send,
		Doc: "A signal that the host sends at its place in the order, in each run with other changes. Set its place with " +
			"after and before. A signal block of the repository permits it. The run fails if no hub answers until the timeout.",
		Attrs: []kind.Attr{text("name", "name of the state; default: the label"),
			text("signal", "name of the signal block; default: the name of the state"),
			text("payload", "text for the states that wait, up to 4096 bytes; not secret"),
			text("timeout", "time limit of all attempts; default: 5m")},
	}}
}

// probes are the conditions of both kinds.
func probes() []string { return []string{"http", "tcp", "exec", "unit", "file"} }

// waits makes the step of wait_for.
func waits(s kind.State) (kind.Output, diag.List) {
	if s.Given("since") && !s.Given("signal") {
		return kind.Output{}, s.Errorf("since", "Attribute without effect", "since has an effect only with signal.")
	}
	return steps(s, step.Wait, "timeout", append(probes(), "barrier", "signal"))
}

// send makes the step of send_signal.
func send(s kind.State) (kind.Output, diag.List) {
	name := s.Str("name")
	to := name
	if s.Given("signal") {
		to = s.Str("signal")
	}
	attrs := []step.Attr{{Key: "send", Value: to}}
	for _, key := range []string{"payload", "timeout"} {
		if s.Given(key) {
			attrs = append(attrs, step.Attr{Key: key, Value: s.Str(key)})
		}
	}
	return s.One(step.Wait, []string{"send-" + name}, attrs...)
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

// steps makes the step of either kind; limit is the attribute that ends it, and ways are its conditions.
func steps(s kind.State, verb step.Verb, limit string, ways []string) (kind.Output, diag.List) {
	var attrs []step.Attr
	var given []string
	for _, name := range []string{"http", "status", "tcp", "exec", "unit", "file", "contains", "barrier", "signal",
		"since", limit} {
		if !s.Given(name) || name == "since" && s.Str(name) == "ever" {
			continue
		}
		v := s.Attrs[name]
		if name == "status" {
			attrs = append(attrs, step.Attr{Key: name, Value: v.AsBigFloat().Text('f', -1)})
			continue
		}
		attrs = append(attrs, step.Attr{Key: name, Value: unit(name, v.AsString())})
		if slices.Contains(ways, name) {
			given = append(given, name)
		}
	}
	last := len(ways) - 1
	list := strings.Join(ways[:last], ", ") + " and " + ways[last]
	switch {
	case len(given) == 0:
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "No condition", "Set one of %s.", list)}
	case len(given) > 1:
		return kind.Output{}, s.Errorf(given[1], "Several checks in one",
			"%s has one of %s, and this state has %s. Declare a state for each.",
			diag.FirstOne(s.Kind), list, strings.Join(given, " and "))
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
