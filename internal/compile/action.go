package compile

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/exec"
	"fettle.dev/fettle/internal/lang/builtin"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/lang/query"
)

// ActionCall is an action with its parameters: its commands as EXEC steps in order, with their
// sealed content. These steps do not belong to the list of the target, and are not part of its
// applied state.
type ActionCall struct {
	Action query.Action
	Result Result
	// Env has secrets that a user typed: NAME=VALUE for all commands of the action. They must not
	// be shown or stored.
	Env []string
	// Locks are the names of the locks that the commands need, sorted.
	Locks []string
}

// Runnable returns the repository's commands and actions, see query.FindRunnable.
func (r *Repository) Runnable() (query.Runnable, diag.List) {
	if r.ds.HasErrors() {
		return query.Runnable{}, slices.Clone(r.ds)
	}
	return query.FindRunnable(r.program, builtinNames())
}

// builtinNames returns the built-in actions and commands.
func builtinNames() query.Builtin {
	var out query.Builtin
	for _, a := range builtin.Actions() {
		out.Actions = append(out.Actions, a.Action)
	}
	for _, c := range builtin.Commands() {
		out.Commands = append(out.Commands, c.Command)
	}
	return out
}

// CallCommand returns the parts of a command, see eval.CallCommand.
func (r *Repository) CallCommand(name string, params map[string]string) ([]query.Part, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return eval.CallCommand(r.program, name, params)
}

// CallAction returns the commands of an action, NAME or MODULE.NAME. If dry is set and the action
// has commands for a dry run, it returns these.
func (r *Repository) CallAction(in Input, name string, params map[string]string, dry bool) (ActionCall, diag.List) {
	if r.ds.HasErrors() {
		return ActionCall{}, slices.Clone(r.ds)
	}
	c, ds := eval.CallAction(r.program, eval.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars,
		Outputs: in.Outputs}, name, params, dry)
	call := ActionCall{Action: c.Action, Env: c.Env, Locks: c.Locks,
		Result: Result{Target: in.Target, Blobs: map[string]kind.Blob{}}}
	if ds.HasErrors() {
		return call, sorted(ds)
	}
	k := exec.Kind()
	for _, s := range c.States {
		ds = append(ds, r.program.WithLines(shape(k, s))...)
		if ds.HasErrors() {
			return call, sorted(ds)
		}
		out, more := k.Steps(s)
		ds = append(ds, r.program.WithLines(more)...)
		for _, b := range out.Blobs {
			call.Result.Blobs[b.Digest] = b
		}
		call.Result.List = append(call.Result.List, out.Steps...)
	}
	ds = append(ds, placeholders(call.Result.List, r.program.Placeholders())...)
	return call, sorted(ds)
}

// shape converts the attributes of a state to the types of its kind, and sets omitted attributes to
// null.
func shape(k kind.Kind, s kind.State) (ds diag.List) {
	for _, a := range k.Attrs {
		v, given := s.Attrs[a.Name]
		if !given {
			s.Attrs[a.Name] = cty.NullVal(a.Type)
			continue
		}
		v, err := convert.Convert(v, a.Type)
		if err == nil && a.Check != nil && !v.IsNull() {
			err = a.Check(v)
		}
		if err != nil {
			ds = append(ds, s.Errorf(a.Name, "Bad value", "%s: %v.", a.Name, err)...)
		}
		s.Attrs[a.Name] = v
	}
	return ds
}
