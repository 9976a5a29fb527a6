package functions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// Finite refuses a result that is infinite: as text it would be "Inf".
func Finite(f function.Function) function.Function {
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
