package lang

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// mostRemembered bounds what a function remembers.
const mostRemembered = 1 << 12

// remembered is a function of two texts that keeps what it gave: expressions are
// compiled at each call, and many targets ask for the same of the same.
func remembered(f function.Function) function.Function {
	type answer struct {
		val cty.Value
		err error
	}
	known := map[[2]string]answer{}
	ask := func(args []cty.Value) (answer, bool) {
		var key [2]string
		for i, a := range args {
			if !a.IsKnown() || a.IsNull() || a.Type() != cty.String || len(args) != len(key) {
				return answer{}, false
			}
			key[i] = a.AsString()
		}
		got, ok := known[key]
		if !ok {
			if got.val, got.err = f.Call(args); len(known) >= mostRemembered {
				clear(known)
			}
			known[key] = got
		}
		return got, true
	}
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if got, ok := ask(args); ok && got.err == nil {
				return got.val.Type(), nil
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			got, ok := ask(args)
			if !ok {
				return f.Call(args)
			}
			return got.val, got.err
		},
	})
}
