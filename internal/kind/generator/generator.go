// Package generator is the kind for the output of a program of the repository: steps, or configuration
// as JSON. A user runs the program with "fettle generate", in a sandbox, and commits its output. The
// compiler reads only this output, and verifies that it belongs to the present inputs.
//
//	generator "users" {
//	  command = ["./gen/users.py"]
//	  inputs  = ["data/users.csv"]
//	}
//
// Files of one run, below the directory of the module:
//
//	generated/users.steps    the output, or users.json
//	generated/users.lock     the command, the input and the files of the output; see Record
package generator

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// DefaultTimeout is the time limit of a program if the state does not set one.
const DefaultTimeout = 30 * time.Second

// Kind returns the kind "generator".
func Kind() kind.Kind {
	return kind.Kind{
		Name: "generator",
		Doc: `Steps, or states as JSON, that a program of the repository prints.
"fettle generate" runs the program, in a sandbox that contains only its inputs, and stores the output in a file of the
repository. Compiling the repository runs no program. If an input has changed since, the compiler reports an error. Undo
treats all of its steps like the steps of other states.`,
		Main: "name",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true, Doc: "name of its files in generated/", Check: checkName},
			{Name: "command", Type: cty.List(cty.String), Required: true,
				Doc:   "the program and its arguments: a file of the module like ./gen/users.py, or a program in /usr/bin",
				Check: checkCommand},
			{Name: "inputs", Type: cty.List(cty.String), Doc: "files and directories of the module that the program may read"},
			{Name: "input", Type: cty.DynamicPseudoType, Doc: "a value for standard input, as JSON: variables, facts"},
			{Name: "output", Type: cty.String, Default: cty.StringVal("steps"), OneOf: []string{"steps", "json"},
				Doc: "type of output: lines of steps, or states in the JSON form"},
			{Name: "timeout", Type: cty.String, Default: cty.StringVal("30s"), Doc: "time limit", Check: checkTimeout},
		},
		Steps:  steps,
		Expand: expand,
	}
}

func checkName(v cty.Value) error {
	if !IsName(v.AsString()) {
		return fmt.Errorf("%q cannot name files: use letters, digits, _ and -", v.AsString())
	}
	return nil
}

// IsName reports whether a text can be used in the names of the files of a generator.
func IsName(s string) bool {
	return s != "" && len(s) <= 100 && strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

func checkCommand(v cty.Value) error {
	if v.LengthInt() == 0 {
		return fmt.Errorf(`there is no program: write command = ["./gen/users.py"]`)
	}
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || strings.ContainsRune(e.AsString(), 0) {
			return fmt.Errorf("a command is a list of texts")
		}
	}
	first := v.AsValueSlice()[0].AsString()
	if first == "" || path.IsAbs(first) {
		return fmt.Errorf(
			"%q is not a program: write a path of the module, like ./gen/users.py, or the name of a program in /usr/bin", first)
	}
	return nil
}

func checkTimeout(v cty.Value) error {
	d, err := duration.Parse(v.AsString())
	if err != nil || d < time.Second || d > time.Hour {
		return fmt.Errorf("%q is not a time limit: write a duration from 1s to 1h", v.AsString())
	}
	return nil
}

// steps reads the printed steps.
func steps(s kind.State) (kind.Output, diag.List) {
	text, r, ds := recorded(s)
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	list, ds := step.Parse(s.Files.Source(r.OutputFile()), text)
	if ds.HasErrors() {
		return kind.Output{}, from(s, ds)
	}
	var out kind.Output
	for _, st := range list {
		switch st.Verb {
		case step.Include, step.Act, step.Check:
			ds = append(ds, diag.Errorf(st.Range, "Step that cannot be generated",
				"A generator cannot print %s. Declare notifications and checks as states of the language.", st.Verb))
			continue
		case step.Copy:
			var more diag.List
			st, more = content(s, st, &out)
			ds = append(ds, more...)
		}
		st.Range, st.Written = diag.Range{}, ""
		out.Steps = append(out.Steps, st)
	}
	return out, from(s, ds)
}

// content finds the content of a COPY step: a file of the module.
func content(s kind.State, st step.Step, out *kind.Output) (step.Step, diag.List) {
	if step.IsDigest(st.Args[0]) {
		return st, diag.List{diag.Errorf(st.Range, "Content does not exist",
			"A digest names content that is not in the repository. Name a file of the module.")}
	}
	blob, err := s.FileBlob(st.Args[0])
	if err != nil {
		return st, diag.List{diag.Errorf(st.Range, "Content does not exist",
			"The file that the step copies cannot be read: %s. It is a path from the module's directory.", err)}
	}
	out.Blobs = append(out.Blobs, blob)
	st.Args = []string{blob.Digest, st.Args[1]}
	return st, nil
}

// from adds the position of the declaration to errors in the output.
func from(s kind.State, ds diag.List) diag.List {
	for i := range ds {
		ds[i].Trace = append(ds[i].Trace[:len(ds[i].Trace):len(ds[i].Trace)], s.Range)
	}
	return ds
}

// expand returns the printed configuration, or nil for steps.
func expand(s kind.State) (*kind.Expansion, diag.List) {
	if s.Str("output") != "json" {
		return nil, nil
	}
	text, r, ds := recorded(s)
	if ds.HasErrors() {
		return nil, ds
	}
	return &kind.Expansion{File: s.Files.Source(r.OutputFile()), Text: text}, nil
}
