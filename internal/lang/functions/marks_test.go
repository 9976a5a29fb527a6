package functions

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"fettle.dev/fettle/internal/secret"
)

// arguments are values of which a function may like one: texts in several forms,
// numbers, and collections of them.
func arguments() []cty.Value {
	s, list := cty.StringVal, []cty.Value{cty.StringVal("7"), cty.StringVal("b")}
	object := cty.ObjectVal(map[string]cty.Value{"a": s("7"), "b": s("c")})
	return []cty.Value{
		s("7"), cty.NumberIntVal(1), cty.NumberIntVal(10), cty.True, s("a"), s(`{"a":"7"}`), s("YQ=="), s("a,b\n7,8"),
		s("%s"), s("yes"),
		cty.ListVal(list), cty.SetVal(list), object, cty.MapVal(map[string]cty.Value{"a": s("7")}), cty.TupleVal(list),
		cty.ListVal([]cty.Value{cty.ListVal(list)}), cty.ListVal([]cty.Value{cty.NumberIntVal(1)}),
		cty.ListVal([]cty.Value{object}),
	}
}

// TestEveryFunctionKeepsTheMark: the result of every function with a secret argument, or a secret
// inside an argument, is secret.
func TestEveryFunctionKeepsTheMark(t *testing.T) {
	mark := secret.Mark{Key: secret.NewKey()}
	for name, fn := range Pure() {
		if name == "try" || name == "can" { // take expressions: below
			continue
		}
		tried := 0
		for _, n := range counts(fn) {
			combine(arguments(), n, func(args []cty.Value) {
				if _, err := fn.Call(args); err != nil || tried > 300 {
					return
				}
				for i := range args {
					for _, a := range marked(args[i], mark) {
						with := append(append([]cty.Value{}, args[:i]...), a)
						with = append(with, args[i+1:]...)
						v, err := fn.Call(with)
						tried++
						if err == nil && !v.ContainsMarked() && !tellsNothing(name, a) && (name != "lookup" || i < 2) {
							t.Errorf("%s(%#v) forgets that argument %d is secret: %#v", name, args, i, v)
						}
					}
				}
			})
		}
		if tried == 0 {
			t.Errorf("nothing was found to call %s with", name)
		}
	}
}

// tellsNothing are the ways in which the elements of a value do not matter.
func tellsNothing(name string, v cty.Value) bool {
	if v.IsMarked() {
		return false
	}
	switch name {
	case "length", "keys", "element", "slice", "lookup", "index", "coalescelist", "chunklist", "concat", "coalesce",
		"merge", "range", "zipmap", "values", "reverse":
		return true // they return a part of their argument and keep the mark of that part
	}
	return false
}

// marked are the ways to mark a value: as a whole, and one element of it.
func marked(v cty.Value, mark any) []cty.Value {
	out := []cty.Value{v.Mark(mark)}
	switch {
	case v.Type().IsListType():
		out = append(out, cty.ListVal([]cty.Value{v.AsValueSlice()[0].Mark(mark)}))
	case v.Type().IsObjectType():
		m := v.AsValueMap()
		m["a"] = m["a"].Mark(mark)
		out = append(out, cty.ObjectVal(m))
	}
	return out
}

// counts are the numbers of arguments that a function takes, few of them.
func counts(fn function.Function) []int {
	n := len(fn.Params())
	if fn.VarParam() != nil {
		return []int{n + 1, n + 2}
	}
	return []int{n}
}

func combine(from []cty.Value, n int, each func([]cty.Value)) {
	args := make([]cty.Value, n)
	var fill func(i int)
	fill = func(i int) {
		if i == n {
			each(args)
			return
		}
		for _, v := range from {
			args[i] = v
			fill(i + 1)
		}
	}
	fill(0)
}
