package syntax

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxLoops is the maximum number of elements that the loops of one target process. Nested loops
// multiply, so a short text could loop until the time limit. The count ends it at the same place on
// every host.
const maxLoops = 1_000_000

// Loops counts the elements that the loops of the current target process.
type Loops struct {
	Most  int64 // of elements
	count atomic.Int64
	Shown bool // the error was reported
}

// NewLoops returns a count with the usual limit.
func NewLoops() *Loops { return &Loops{Most: maxLoops} }

// Begin starts to count for another target.
func (l *Loops) Begin() {
	l.count.Store(0)
	l.Shown = false
}

// Over reports whether the loops of the target processed too many elements.
func (l *Loops) Over() bool { return l.count.Load() > l.Most }

// Watch makes the loops of an expression or a body count: for expressions, for directives of
// templates, and splats.
func (l *Loops) Watch(n hclsyntax.Node) {
	_ = hclsyntax.VisitAll(n, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.ForExpr:
			x.CollExpr = l.counted(x.CollExpr)
		case *hclsyntax.SplatExpr:
			x.Source = l.counted(x.Source)
		}
		return nil
	})
}

// counted wraps the collection of a loop. It is traversed like an expression in parentheses, so
// searches for names find its names.
type counted struct {
	*hclsyntax.ParenthesesExpr
	loops *Loops
}

func (l *Loops) counted(e hclsyntax.Expression) hclsyntax.Expression {
	return counted{&hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}, l}
}

// Value counts the elements before the loop iterates over them.
func (c counted) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if c.loops.Over() {
		return cty.DynamicVal, c.tooMany()
	}
	v, hds := c.Expression.Value(ctx)
	if plain, _ := v.Unmark(); !hds.HasErrors() && plain.IsKnown() && plain.CanIterateElements() {
		if c.loops.count.Add(int64(plain.LengthInt())+1) > c.loops.Most {
			return cty.DynamicVal, c.tooMany()
		}
	}
	return v, hds
}

func (c counted) tooMany() hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: ManyLoops, Detail: ManyLoopsDetail(),
		Subject: c.SrcRange.Ptr()}}
}

// ManyLoops is the summary of the error about too many loops.
const ManyLoops = "Too many loops"

// ManyLoopsDetail returns the detail of the error about too many loops.
func ManyLoopsDetail() string {
	return fmt.Sprintf(
		"The loops of one target can process at most %d elements in total, and this loop exceeds the limit. "+
			"A loop inside another loop multiplies the number: compute the inner loop once, in a local.", maxLoops)
}
