package compile

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/kind/exec"
	"fettle.dev/fettle/internal/lang"
)

// ActionCall is an action with its parameters: what runs, as EXEC steps one after
// the other, with what is sealed for them. They are no list of the target: nothing of
// it is applied.
type ActionCall struct {
	Action lang.Action
	Result Result
	// Env is what was typed as a secret: NAME=VALUE for all of its commands, and
	// nothing to show or to keep.
	Env []string
}

// Runnable is what the repository can be asked to do, see lang.Program.
func (r *Repository) Runnable() (lang.Runnable, diag.List) {
	if r.ds.HasErrors() {
		return lang.Runnable{}, slices.Clone(r.ds)
	}
	return r.program.Runnable()
}

// CallCommand gives the parts of a command, see lang.Program.
func (r *Repository) CallCommand(name string, params map[string]string) ([]lang.Part, diag.List) {
	if r.ds.HasErrors() {
		return nil, slices.Clone(r.ds)
	}
	return r.program.CallCommand(name, params)
}

// CallAction gives the commands of an action, NAME or MODULE.NAME: those of its dry
// run, where dry is set and it has some.
func (r *Repository) CallAction(in Input, name string, params map[string]string, dry bool) (ActionCall, diag.List) {
	if r.ds.HasErrors() {
		return ActionCall{}, slices.Clone(r.ds)
	}
	c, ds := r.program.CallAction(lang.Input{Target: in.Target, Facts: in.Facts, Vars: in.Vars, Outputs: in.Outputs}, name, params, dry)
	call := ActionCall{Action: c.Action, Env: c.Env, Result: Result{Target: in.Target, Blobs: map[string]kind.Blob{}}}
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

// shape gives the attributes of a state the types that its kind wants, and null to
// those that are left out.
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
