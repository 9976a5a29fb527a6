package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// dropOperand leaves one side of an && or || out.
func (w *finder) dropOperand(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR {
		return
	}
	for _, kept := range []ast.Expr{n.X, n.Y} {
		text := w.source(kept)
		if b, ok := kept.(*ast.BinaryExpr); ok && b.Op != n.Op && (b.Op == token.LAND || b.Op == token.LOR) {
			text = "(" + text + ")"
		}
		w.add("drop", n, text)
	}
}

// mostWider is how many values are added to a list, each in a mutant of its own.
const mostWider = 3

// widenCall adds a value to the arguments of a call that takes any number of them.
func (w *finder) widenCall(n *ast.CallExpr) {
	sig, ok := w.info.TypeOf(n.Fun).(*types.Signature)
	if !ok || !sig.Variadic() || n.Ellipsis.IsValid() || len(n.Args) < sig.Params().Len() {
		return
	}
	list := sig.Params().At(sig.Params().Len() - 1).Type().(*types.Slice)
	w.widen(n, n.Args[sig.Params().Len()-1:], list.Elem())
}

// list adds a value to a list that is written out, and leaves each of its elements out.
func (w *finder) list(n *ast.CompositeLit) {
	t := w.info.TypeOf(n)
	if t == nil || len(n.Elts) == 0 {
		return
	}
	slice, ok := t.Underlying().(*types.Slice)
	if !ok {
		return
	}
	w.widen(n, n.Elts, slice.Elem())
	for i, e := range n.Elts {
		if !w.isConstant(e) || len(n.Elts) == 1 {
			continue
		}
		rest := slices.Delete(slices.Clone(n.Elts), i, i+1)
		all := span{n.Elts[0].Pos(), n.Elts[len(n.Elts)-1].End()}
		w.addInside("shorten", n, all, w.joined(rest))
	}
}

func (w *finder) joined(list []ast.Expr) string {
	var parts []string
	for _, e := range list {
		parts = append(parts, w.source(e))
	}
	return strings.Join(parts, ", ")
}

// widen adds to a list of constants of a named type others of that type.
func (w *finder) widen(outer ast.Expr, list []ast.Expr, t types.Type) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return
	}
	for _, e := range list {
		if !w.isConstant(e) {
			return
		}
	}
	last, added := list[len(list)-1], 0
	for _, name := range w.constantsOf(named) {
		if added == mostWider {
			return
		}
		if x, ok := last.(*ast.SelectorExpr); ok {
			name = w.source(x.X) + "." + name
		}
		if !slices.ContainsFunc(list, func(e ast.Expr) bool { return w.source(e) == name }) {
			w.addInside("widen", outer, span{list[0].Pos(), last.End()}, w.joined(list)+", "+name)
			added++
		}
	}
}

// constantsOf are the constants of a type that stand beside it, sorted.
func (w *finder) constantsOf(named *types.Named) []string {
	scope := named.Obj().Pkg().Scope()
	return slices.DeleteFunc(scope.Names(), func(name string) bool {
		c, ok := scope.Lookup(name).(*types.Const)
		return !ok || !types.Identical(c.Type(), named)
	})
}

func (w *finder) isConstant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

// span is a part of the source that is not a syntax node.
type span struct{ from, to token.Pos }

func (s span) Pos() token.Pos { return s.from }
func (s span) End() token.Pos { return s.to }

// leaveOutIf deletes a condition with its branches. If a branch leaves the function, condition already
// has this mutant.
func (w *finder) leaveOutIf(n *ast.IfStmt) {
	if k := len(n.Body.List); n.Else == nil && k > 0 {
		if _, leaves := n.Body.List[k-1].(*ast.ReturnStmt); !leaves {
			w.leaveOut(n)
		}
	}
}

// leaveOutDefer deletes a defer statement, unless it only releases a resource, which no test detects.
func (w *finder) leaveOutDefer(n *ast.DeferStmt) {
	s := types.ExprString(n.Call)
	if !strings.HasSuffix(s, "ock()") && !strings.HasSuffix(s, ".Close()") && !strings.HasSuffix(s, "Stop()") &&
		!strings.HasSuffix(s, "stop()") && !strings.HasSuffix(s, "cancel()") && !strings.HasSuffix(s, "done()") {
		w.leaveOut(n)
	}
}
