package lang

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

// loops counts the elements that the loops of the current target process.
type loops struct {
	most  int64 // of elements
	count atomic.Int64
	shown bool // the error was reported
}

// begin starts to count for another target.
func (l *loops) begin() {
	l.count.Store(0)
	l.shown = false
}

func (l *loops) over() bool { return l.count.Load() > l.most }

// watch makes the loops of an expression or a body count: for expressions, for directives of
// templates, and splats.
func (l *loops) watch(n hclsyntax.Node) {
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
	loops *loops
}

func (l *loops) counted(e hclsyntax.Expression) hclsyntax.Expression {
	return counted{&hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}, l}
}

// Value counts the elements before the loop iterates over them.
func (c counted) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if c.loops.over() {
		return cty.DynamicVal, c.tooMany()
	}
	v, hds := c.Expression.Value(ctx)
	if plain, _ := v.Unmark(); !hds.HasErrors() && plain.IsKnown() && plain.CanIterateElements() {
		if c.loops.count.Add(int64(plain.LengthInt())+1) > c.loops.most {
			return cty.DynamicVal, c.tooMany()
		}
	}
	return v, hds
}

func (c counted) tooMany() hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: manyLoops, Detail: manyLoopsDetail(), Subject: c.SrcRange.Ptr()}}
}

const manyLoops = "Too many loops"

func manyLoopsDetail() string {
	return fmt.Sprintf("The loops of one target can process at most %d elements in total, and this loop exceeds the limit. "+
		"A loop inside another loop multiplies the number: compute the inner loop once, in a local.", maxLoops)
}

// compute returns the value of an expression. ok is false after a diagnostic.
func (ev *evaluator) compute(s *scope, e hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, ok bool) {
	v, hds := e.Value(ctx)
	if ev.looped(e) {
		return cty.NilVal, false
	}
	if hds.HasErrors() {
		ev.add(ev.traced(s, ev.prog.fromHCL(hds))...)
		return cty.NilVal, false
	}
	return v, true
}

// looped reports too many loops, once. After that no loop of the target has a value, and try would
// hide it.
func (ev *evaluator) looped(e hclsyntax.Expression) bool {
	l := ev.prog.loops
	if !l.over() {
		return false
	}
	if !l.shown {
		l.shown = true
		ev.errorf(rangeOf(e.Range()), manyLoops, "%s", manyLoopsDetail())
	}
	return true
}
