package lang

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// rangeNumbers is the maximum number of elements that range returns.
const rangeNumbers = 1024

// rangeFunc is the function range with a more helpful error.
func rangeFunc() function.Function {
	return wrapped(stdlib.RangeFunc, func(v cty.Value, err error) (cty.Value, error) {
		if err != nil && strings.Contains(err.Error(), strconv.Itoa(rangeNumbers)) {
			err = fmt.Errorf(
				"range returns at most %d numbers; for more, join several with concat, for example concat(range(0, 1000), range(1000, "+
					"2000))", rangeNumbers)
		}
		return v, err
	})
}

// finite refuses a result that is infinite: as text it would be "Inf".
func finite(f function.Function) function.Function {
	return wrapped(f, func(v cty.Value, err error) (cty.Value, error) {
		if err == nil && v.IsKnown() && !v.IsNull() && v.Type() == cty.Number && v.AsBigFloat().IsInf() {
			return cty.NilVal, errors.New("the result is infinite")
		}
		return v, err
	})
}

// wrapped returns a function of numbers whose result is checked.
func wrapped(f function.Function, outcome func(cty.Value, error) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return outcome(f.Call(args)) },
	})
}

// checkDivisions makes the divisions of an expression or a body refuse zero, which would give an
// infinite number.
func checkDivisions(n hclsyntax.Node) {
	_ = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		b, ok := n.(*hclsyntax.BinaryOpExpr)
		if ok && (b.Op == hclsyntax.OpDivide || b.Op == hclsyntax.OpModulo) {
			b.Op = &hclsyntax.Operation{Impl: noZero(b.Op.Impl), Type: b.Op.Type}
		}
		return nil
	})
}

// noZero returns a division that refuses the divisor zero.
func noZero(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type:   f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[1].AsBigFloat().Sign() == 0 {
				return cty.NilVal, errors.New("division by zero")
			}
			return finite(f).Call(args)
		},
	})
}
