package eval

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/secret"
)

// callScope returns the scope of the parameters of a call, which must match the declaration; nil after a
// diagnostic.
func callScope(ev *Evaluator, name string, params *source.Body, given map[string]string) *Scope {
	for n, v := range params.Vars {
		if text, ok := given[n]; ok && v.Secret {
			ev.Program.Hide("parameter "+n, text)
		}
	}
	call := &Scope{body: params, name: name, Directory: params.Directory, fctx: ev.Program.Functions(params.Directory),
		Facts: map[string]cty.Value{}, states: map[string]map[string]*State{}, node: -1}
	call.params = call
	if !assignVariables(ev, call, []VariableLayer{commandLine(given)}) {
		return nil
	}
	return call
}

// hidden splits off the elements of an object or map that hold a secret typed by a user. It returns
// them as NAME=VALUE, sorted. mixed is the name of an element that also holds a secret of the
// repository.
func hidden(v cty.Value) (rest cty.Value, out []string, mixed string) {
	if v.IsNull() || !v.CanIterateElements() || !v.ContainsMarked() {
		return v, nil, ""
	}
	kept := map[string]cty.Value{}
	for k, e := range kind.Elements(v) {
		plain, marks := e.UnmarkDeep()
		if _, is := marks[typed{}]; !is {
			kept[k] = e
			continue
		}
		if _, sealed := secret.KeyOf(kind.Marks(marks)); sealed {
			mixed = k
		}
		if text, err := convert.Convert(plain, cty.String); err == nil && !text.IsNull() {
			out = append(out, k+"="+text.AsString())
		}
	}
	slices.Sort(out)
	return cty.ObjectVal(kept), out, mixed
}
