package eval

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Explained is one variable of one module, with the origin of its value.
type Explained struct {
	Module string // "the top level" or "module web"
	Name   string
	Type   string
	Value  string // as JSON; "" if it has no value
	// Layers are all layers with a value, from low to high. The last layer counts.
	Layers []Layer
	Range  diag.Range // where it is declared
}

// Layer is one value of a variable, with its source.
type Layer struct {
	Name  string // default, repository, role web, target group prod, a data file, target, module block, command line
	Value string // as JSON
	// Merge is the method that merges the value with lower layers: "" replaces them, "shallow" and
	// "deep" merge objects.
	Merge string
	Range diag.Range
}

// Explain returns each variable of the target with that name, or all if name is "". The result is
// in the order of the modules, then by name.
func Explain(p *source.Program, in Input, name string) ([]Explained, diag.List) {
	ev, ds := evaluate(p, in, nil)
	if ev == nil {
		return nil, source.Finish(p, ds)
	}
	var out []Explained
	known := map[string]bool{}
	for _, s := range ev.All {
		for _, n := range syntax.SortedNames(s.body.Vars) {
			known[n] = true
			if name == "" || n == name {
				out = append(out, explainVariable(ev, s, s.body.Vars[n]))
			}
		}
	}
	if name != "" && len(out) == 0 {
		ev.Errorf(diag.Range{}, "Unknown variable", "The target has no variable %q.%s", name,
			syntax.Suggest(name, syntax.Names(known)))
	}
	return out, source.Finish(p, ev.List)
}

func explainVariable(ev *Evaluator, s *Scope, v *source.Variable) Explained {
	e := Explained{Module: s.name, Name: v.Name, Type: typeName(v.Type), Range: v.Range}
	if v.Default != nil {
		if val, ok := variableDefault(ev, s.body, v); ok {
			e.Layers = append(e.Layers, Layer{Name: "default" + snapshotsOf(s.Directory, v.Default),
				Value: functions.Show(val), Range: syntax.RangeOf(v.Default.Range())})
		}
	}
	for _, l := range s.layers {
		if lv, ok := l.values[v.Name]; ok {
			e.Layers = append(e.Layers, Layer{Name: l.name + lv.from, Value: functions.Show(lv.val), Merge: l.merges(v),
				Range: lv.rng})
		}
	}
	if val, ok := s.Vars[v.Name]; ok {
		e.Value = functions.Show(val)
	}
	return e
}

// typeName returns a type in the syntax of the language.
func typeName(t cty.Type) string {
	if t == cty.DynamicPseudoType {
		return "any"
	}
	return t.FriendlyName()
}
