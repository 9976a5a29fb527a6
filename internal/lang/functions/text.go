package functions

import (
	"fmt"
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// MaxText is the maximum size in bytes of a text that one function makes from small arguments.
const MaxText = 16 << 20

// Text makes a function from one text to another.
func Text(fn func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := fn(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(s), nil
		},
	})
}

func pathFunctions() map[string]function.Function {
	return map[string]function.Function{
		"basename": Text(func(s string) (string, error) { return path.Base(s), nil }),
		"dirname":  Text(func(s string) (string, error) { return path.Dir(s), nil }),
	}
}

func predicate(fn func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(fn(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

func startsWith() function.Function { return predicate(strings.HasPrefix) }

func endsWith() function.Function { return predicate(strings.HasSuffix) }

func strContains() function.Function { return predicate(strings.Contains) }

func repeatFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "times", Type: cty.Number}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			n, _ := args[1].AsBigFloat().Float64()
			s := args[0].AsString()
			if n < 0 || n*float64(len(s)) > MaxText {
				return cty.NilVal, function.NewArgErrorf(1, "the result must be between 0 and 16 MiB long")
			}
			return cty.StringVal(strings.Repeat(s, int(n))), nil
		},
	})
}

// bounded returns f, limited to numbers up to 1,000 as argument i, because a small text could
// otherwise fill the memory.
func bounded(f function.Function, i int) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if n, _ := args[i].AsBigFloat().Float64(); n > 1000 || n < -1000 {
				return cty.NilVal, function.NewArgErrorf(i, "it must be between -1,000 and 1,000")
			}
			return f.Call(args)
		},
	})
}

// formatFunc returns the function format. It refuses widths of more than four digits.
func formatFunc(f function.Function) function.Function {
	check := func(s string) error {
		for i := 0; i < len(s); i++ {
			n := 0
			for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
				n++
			}
			if n > 4 && strings.Contains(s[:i], "%") {
				return fmt.Errorf("a width has at most four digits")
			}
			i += n
		}
		return nil
	}
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].Type() == cty.String && args[0].IsKnown() && !args[0].IsNull() {
				if err := check(args[0].AsString()); err != nil {
					return cty.NilType, function.NewArgError(0, err)
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func lengthFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].Type() == cty.String {
				return stdlib.Strlen(args[0])
			}
			if args[0].Type().IsObjectType() {
				return cty.NumberIntVal(int64(len(args[0].Type().AttributeTypes()))), nil
			}
			return stdlib.Length(args[0])
		},
	})
}

func sumFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "numbers", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			list, err := convert.Convert(args[0], cty.List(cty.Number))
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, "the argument must be a list of numbers")
			}
			total := cty.Zero
			for it := list.ElementIterator(); it.Next(); {
				_, n := it.Element()
				if n.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "the list contains null")
				}
				total = total.Add(n)
			}
			return total, nil
		},
	})
}
