package lang

import (
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
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
func (p *Program) Explain(in Input, name string) ([]Explained, diag.List) {
	ev, ds := p.evaluate(in, nil)
	if ev == nil {
		return nil, finish(p, ds)
	}
	var out []Explained
	known := map[string]bool{}
	for _, s := range ev.all {
		for _, n := range sortedKeys(s.body.vars) {
			known[n] = true
			if name == "" || n == name {
				out = append(out, ev.explain(s, s.body.vars[n]))
			}
		}
	}
	if name != "" && len(out) == 0 {
		ev.errorf(diag.Range{}, "Unknown variable", "The target has no variable %q.%s", name, Suggest(name, keysOf(known)))
	}
	return out, finish(p, ev.list)
}

func (ev *evaluator) explain(s *scope, v *variable) Explained {
	e := Explained{Module: s.name, Name: v.name, Type: typeName(v.typ), Range: v.rng}
	if v.def != nil {
		if val, ok := ev.variableDefault(s.body, v); ok {
			e.Layers = append(e.Layers, Layer{Name: "default" + snapshotsOf(s.directory, v.def), Value: show(val), Range: rangeOf(v.def.Range())})
		}
	}
	for _, l := range s.layers {
		if lv, ok := l.values[v.name]; ok {
			e.Layers = append(e.Layers, Layer{Name: l.name + lv.from, Value: show(lv.val), Merge: l.merges(v), Range: lv.rng})
		}
	}
	if val, ok := s.vars[v.name]; ok {
		e.Value = show(val)
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

// WithLines adds the source lines to diagnostics about the program's files.
func (p *Program) WithLines(ds diag.List) diag.List { return p.lines(ds) }
