package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/secret"
)

// Param is a parameter of an action or a command.
type Param struct {
	Name string
	Type string // as the language writes it; any when it is ""
	Doc  string
	// Required is false if the parameter has a default.
	Required bool
	// Secret values are neither shown nor recorded.
	Secret  bool
	Default string // as JSON; "" if it is required or depends on the target
	Range   diag.Range
}

// typed is the mark of a secret parameter's value that a user typed. No key encrypts it. The caller
// removes the value before any further use.
type typed struct{}

// CheckParams returns the errors in the parameters of an action or command, as far as they need no
// target: an unknown parameter, a missing value, a text that is not a number. The parameter what
// describes the action or command in a sentence, such as: the action "drain". name is its name on
// the command line.
func CheckParams(what, name string, params []Param, given map[string]string) diag.List {
	r := &reports{}
	known := map[string]Param{}
	for _, p := range params {
		known[p.Name] = p
	}
	for _, n := range sortedKeys(given) {
		if _, ok := known[n]; !ok {
			r.errorf(diag.Range{}, "Unknown parameter", "T%s has no parameter %q.%s", what[1:], n, orNone(Suggest(n, keysOf(known))))
		}
	}
	for _, p := range params {
		text, ok := given[p.Name]
		switch {
		case !ok && p.Required:
			r.errorf(p.Range, "Parameter without a value",
				"The parameter %q of %s has no default%s. Set it: fettle run %s %s=….", p.Name, what, behind(p.Doc), name, p.Name)
		case ok && !fitsType(p.Type, text):
			shown := fmt.Sprintf("%q", text)
			if p.Secret {
				shown = "the given value"
			}
			r.errorf(p.Range, "Wrong type", "The parameter %q of %s must be %s, and the value is %s.", p.Name, what, diag.One(p.Type), shown)
		}
	}
	return r.list
}

func orNone(hint string) string {
	if hint == "" {
		return " Remove it."
	}
	return hint
}

func behind(doc string) string {
	if doc == "" {
		return ""
	}
	return " (" + strings.TrimSuffix(doc, ".") + ")"
}

// fitsType reports whether a text of the command line can be a value of a type. Types except number
// and bool are checked later, when the target is known.
func fitsType(name, text string) bool {
	t := map[string]cty.Type{"number": cty.Number, "bool": cty.Bool}[name]
	if t == cty.NilType {
		return true
	}
	_, err := convert.Convert(cty.StringVal(text), t)
	return err == nil
}

// paramsOf describes parameters. A default that depends on the target is omitted.
func (p *Program) paramsOf(b *body) []Param {
	var out []Param
	for _, name := range sortedKeys(b.vars) {
		v := b.vars[name]
		x := Param{Name: name, Type: typeexpr.TypeString(v.typ), Doc: v.description, Required: v.def == nil, Secret: v.secret, Range: v.rng}
		if v.def != nil && !v.secret {
			if val, hds := v.def.Value(p.pure); !hds.HasErrors() && val.IsWhollyKnown() {
				x.Default = show(val)
			}
		}
		out = append(out, x)
	}
	return out
}

// call returns the scope of the parameters of a call, which must match the declaration; nil after a
// diagnostic.
func (ev *evaluator) call(name string, params *body, given map[string]string) *scope {
	for n, v := range params.vars {
		if text, ok := given[n]; ok && v.secret {
			ev.prog.secrets.hide("parameter "+n, text)
		}
	}
	call := &scope{body: params, name: name, directory: params.directory, fctx: ev.prog.functions(params.directory), facts: map[string]cty.Value{}, states: map[string]map[string]*state{}, node: -1}
	call.params = call
	if !ev.assign(call, []layer{commandLine(given)}) {
		return nil
	}
	return call
}

// hide removes a secret that a user typed from every diagnostic.
func (s *secrets) hide(name, text string) {
	if text != "" {
		s.know(name, kind.Secret{Content: []byte(text)})
	}
}

// hidden splits off the elements of an object or map that hold a secret typed by a user. It returns
// them as NAME=VALUE, sorted. mixed is the name of an element that also holds a secret of the
// repository.
func hidden(v cty.Value) (rest cty.Value, out []string, mixed string) {
	if v.IsNull() || !v.CanIterateElements() || !v.ContainsMarked() {
		return v, nil, ""
	}
	kept := map[string]cty.Value{}
	for k, e := range valueMap(v) {
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
