package query

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
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

// CheckParams returns the errors in the parameters of an action or command, as far as they need no
// target: an unknown parameter, a missing value, a text that is not a number. The parameter what
// describes the action or command in a sentence, such as: the action "drain". name is its name on
// the command line.
func CheckParams(what, name string, params []Param, given map[string]string) diag.List {
	r := &syntax.Reports{}
	known := map[string]Param{}
	for _, p := range params {
		known[p.Name] = p
	}
	for _, n := range syntax.SortedNames(given) {
		if _, ok := known[n]; !ok {
			r.Errorf(diag.Range{}, "Unknown parameter", "T%s has no parameter %q.%s", what[1:], n,
				orNone(syntax.Suggest(n, syntax.Names(known))))
		}
	}
	for _, p := range params {
		text, ok := given[p.Name]
		switch {
		case !ok && p.Required:
			r.Errorf(p.Range, "Parameter without a value",
				"The parameter %q of %s has no default%s. Set it: fettle run %s %s=….", p.Name, what, behind(p.Doc), name, p.Name)
		case ok && !fitsType(p.Type, text):
			shown := fmt.Sprintf("%q", text)
			if p.Secret {
				shown = "the given value"
			}
			r.Errorf(p.Range, "Wrong type", "The parameter %q of %s must be %s, and the value is %s.", p.Name, what,
				diag.One(p.Type), shown)
		}
	}
	return r.List
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

// ParamsOf describes parameters. A default that depends on the target is omitted.
func ParamsOf(p *source.Program, b *source.Body) []Param {
	var out []Param
	for _, name := range syntax.SortedNames(b.Vars) {
		v := b.Vars[name]
		x := Param{Name: name, Type: typeexpr.TypeString(v.Type), Doc: v.Description, Required: v.Default == nil,
			Secret: v.Secret, Range: v.Range}
		if v.Default != nil && !v.Secret {
			if val, hds := v.Default.Value(p.Pure); !hds.HasErrors() && val.IsWhollyKnown() {
				x.Default = functions.Show(val)
			}
		}
		out = append(out, x)
	}
	return out
}
