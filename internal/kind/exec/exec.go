// Package exec is the kind exec: a command, run without a shell.
//
//	exec "make-keys" {
//	  command = ["ssh-keygen", "-A"]
//	  creates = "/etc/ssh/ssh_host_ed25519_key"
//	}
package exec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	text := func(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: cty.String, Doc: doc} }
	creates, cwd := kind.PathAttr("creates", "done if this path exists"), kind.PathAttr("cwd", "working directory")
	creates.Required, cwd.Required = false, false
	return kind.Kind{
		Name: "exec", Main: "name", Free: true, Steps: steps, Result: result,
		Doc: "A command. A guard (creates, unless, only_if) detects that it is already done; a lazy command runs only " +
			"if it is notified.",
		Actions: []kind.Action{{Name: "run", Doc: "runs the command", Act: act}},
		Attrs: []kind.Attr{
			text("name", "name on the target; default: the label"),
			{Name: "command", Type: cty.DynamicPseudoType, Required: true,
				Doc: "list of words, or a text that is split at blanks"},
			creates, cwd,
			{Name: "unless", Type: cty.DynamicPseudoType, Doc: "done if this command succeeds"},
			{Name: "only_if", Type: cty.DynamicPseudoType, Doc: "runs only if this command succeeds"},
			{Name: "guard_network", Type: cty.Bool,
				Doc: "unless and only_if need the network, or read its state; a plan then gives them network access"},
			{Name: "env", Type: cty.Map(cty.String), Secret: true, Doc: "environment variables; secrets are never logged"},
			text("user", "run as this user"),
			text("timeout", "such as 30s; default: 5m"),
			{Name: "undo", Type: cty.DynamicPseudoType, Doc: "command that undoes it"},
			{Name: "lazy", Type: cty.Bool, Doc: "runs only if it is notified"},
			{Name: "output", Type: cty.String, Check: checkOutput,
				Doc: "source of result: stdout, or the path of a file that the command writes"},
			{Name: "result", Type: cty.String, Computed: true,
				Doc: "the output without trailing line ends; known after the command has run"},
		},
	}
}

// checkOutput wants stdout or a path.
func checkOutput(v cty.Value) error {
	if v.AsString() == step.OutputStdout {
		return nil
	}
	if err := kind.CheckPath(v); err != nil {
		return fmt.Errorf("output is %q, or the path of a file that the command writes", step.OutputStdout)
	}
	return nil
}

func result(s kind.State) (addr.Addr, diag.List) {
	switch {
	case !s.Given("output"):
		return "", s.Errorf("output", "No output",
			`%s has no result for other states. Set output = "stdout", or the path of a file that it writes.`, s.ID)
	case s.Bool("lazy"):
		return "", s.Errorf("lazy", "Output of a lazy command",
			"A lazy command runs at the end or not at all, so no state can wait for its result. Remove lazy, or output.")
	}
	return addr.New(addr.KindExec, s.Str("name")), nil
}

// words are a command given as list or text.
func words(s kind.State, name string) ([]string, diag.List) {
	v := s.Attrs[name]
	var out []string
	switch ty := v.Type(); {
	case ty == cty.String:
		w, err := step.SplitWords(v.AsString())
		if err != nil {
			return nil, s.Errorf(name, "Bad command", "%v.", err)
		}
		out = w
	case ty.IsTupleType() || ty.IsListType():
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if e.IsNull() || e.Type() != cty.String {
				return nil, s.Errorf(name, "Bad command",
					"The words of a command are texts. Write tostring(…), or put it in quotes.")
			}
			out = append(out, e.AsString())
		}
	default:
		return nil, s.Errorf(name, "Bad command", "%s is a list of words, or a text.", name)
	}
	if len(out) == 0 || out[0] == "" {
		return nil, s.Errorf(name, "Bad command", "The command is empty.")
	}
	return out, nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	argv, ds := words(s, "command")
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	if s.Bool("lazy") {
		for _, name := range []string{"creates", "unless", "only_if", "guard_network", "undo", "cwd", "env", "user",
			"output"} {
			if s.Given(name) {
				return kind.Output{}, s.Errorf(name, "Guard of a lazy command",
					"A lazy command runs when it is notified, as root in /, without guards and undo. Remove %s, or lazy.", name)
			}
		}
		return kind.Output{}, nil
	}
	attrs, blobs, ds := attributes(s)
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	out, ds := s.One(step.Exec, append([]string{s.Str("name")}, argv...), attrs...)
	out.Blobs = blobs
	return out, ds
}

func attributes(s kind.State) ([]step.Attr, []kind.Blob, diag.List) {
	env, blobs, ds := environment(s)
	if ds.HasErrors() {
		return nil, nil, ds
	}
	attrs := append([]step.Attr{{Key: "cwd", Value: s.Str("cwd")}}, env...)
	attrs = append(attrs, step.Attr{Key: "user", Value: s.Str("user")}, step.Attr{Key: "creates", Value: s.Str("creates")})
	for _, name := range []string{"unless", "only_if", "guard_network", "timeout", "undo", "output"} {
		switch {
		case name == "guard_network":
			if s.Bool(name) {
				attrs = append(attrs, step.Attr{Key: name, Value: "true"})
			}
		case name == "timeout" || name == "output":
			attrs = append(attrs, step.Attr{Key: name, Value: s.Str(name)})
		case s.Given(name):
			w, ds := words(s, name)
			if ds.HasErrors() {
				return nil, nil, ds
			}
			attrs = append(attrs, step.Attr{Key: name, Value: step.JoinWords(w)})
		}
	}
	return attrs, blobs, nil
}

// environment is env by name. A secret in it is a reference, and a blob.
func environment(s kind.State) (attrs []step.Attr, blobs []kind.Blob, ds diag.List) {
	if !s.Given("env") {
		return nil, nil, nil
	}
	env := kind.Elements(s.Attrs["env"])
	for _, n := range slices.Sorted(maps.Keys(env)) {
		if env[n].IsNull() {
			return nil, nil, s.Errorf("env", "Missing value", "The variable %s is null. Give it a text.", n)
		}
		var value string
		if b, ref, ok := kind.SecretText(env[n]); ok {
			value, blobs = ref.String(), append(blobs, b)
		} else if value = env[n].AsString(); secret.LooksLikeRef(value) {
			return nil, nil, s.Errorf("env", "Value looks like a reference to a secret",
				"The value of %s begins like an internal reference to a secret: %q. Change its beginning.", n, value)
		}
		attrs = append(attrs, step.Attr{Key: "env", Value: n + "=" + value})
	}
	return attrs, blobs, nil
}

func act(s kind.State) (step.Step, diag.List) {
	argv, ds := words(s, "command")
	if ds.HasErrors() {
		return step.Step{}, ds
	}
	return s.Step(step.Act, append([]string{"run", s.Str("name")}, argv...),
		step.Attr{Key: "timeout", Value: s.Str("timeout")})
}
