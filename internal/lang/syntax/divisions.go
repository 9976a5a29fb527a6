package syntax

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"fettle.dev/fettle/internal/lang/functions"
)

// CheckDivisions makes the divisions of an expression or a body refuse zero, which would give an
// infinite number.
func CheckDivisions(n hclsyntax.Node) {
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
			return functions.Finite(f).Call(args)
		},
	})
}
