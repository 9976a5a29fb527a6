package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one edit of one file.
type mutant struct {
	file       string // relative to the module
	line       int
	fn         string // the function it is in, Type.Method for methods
	operator   string
	start, end int // the bytes of the file that text replaces
	text       string
	old        string // the original text
	repeat     int    // how many mutants of the same text the function has before this one
	place      place
}

// name identifies a mutant in the report and in equivalent.txt. It has no line number, so it stays
// valid after changes elsewhere in the file. A second mutant of the same text in one function ends
// with (2).
func (m mutant) name() string {
	directory := m.file[:strings.LastIndex(m.file, "/")]
	name := fmt.Sprintf("%s %s %s: %s -> %s", directory, m.fn, m.operator, oneLine(m.old), oneLine(m.text))
	if m.repeat > 0 {
		name += fmt.Sprintf(" (%d)", m.repeat+1)
	}
	return name
}

func oneLine(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "nothing"
	}
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100]) + "…"
	}
	return s
}

// finder gathers the mutants of one file.
type finder struct {
	fset *token.FileSet
	info *types.Info
	pkg  *types.Package
	file string
	src  []byte
	fn   string
	out  []mutant
	// imports has the names of the packages that the file imports, by path.
	imports map[string]string
}

// find lists every mutant of a file, in the order of the source. Some may not
// compile.
func find(p *packages.Package, f *ast.File, file string, src []byte) []mutant {
	w := finder{fset: p.Fset, info: p.TypesInfo, pkg: p.Types, file: file, src: src, imports: importsOf(p, f)}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if w.fn = funcName(d); d.Body != nil && d.Name.Name != "Error" && d.Name.Name != "String" {
				ast.Inspect(d.Body, w.visit)
			}
		case *ast.GenDecl:
			if w.fn = "const"; d.Tok == token.CONST {
				ast.Inspect(d, w.visit)
			}
		}
	}
	return w.out
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	return types.ExprString(t) + "." + d.Name.Name
}

// add records the mutant that replaces the bytes of n by text.
func (w *finder) add(operator string, n ast.Node, text string) {
	w.addInside(operator, n, n, text)
}

// addInside records a mutant that replaces the bytes of n, a part of outer.
func (w *finder) addInside(operator string, outer, n ast.Node, text string) {
	start, end := w.fset.Position(n.Pos()), w.fset.Position(n.End())
	w.out = append(w.out, mutant{
		file: w.file, line: start.Line, fn: w.fn, operator: operator,
		start: start.Offset, end: end.Offset, text: text, old: string(w.src[start.Offset:end.Offset]),
		place: w.placeOf(outer),
	})
}

func (w *finder) source(n ast.Node) string {
	return string(w.src[w.fset.Position(n.Pos()).Offset:w.fset.Position(n.End()).Offset])
}

func (w *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if w.isMessage(n) {
			return false
		}
		w.widenCall(n)
	case *ast.CompositeLit:
		w.list(n)
	case *ast.IfStmt:
		w.condition(n)
		w.leaveOutIf(n)
	case *ast.BinaryExpr:
		w.binary(n)
		w.dropOperand(n)
	case *ast.BasicLit:
		if n.Kind == token.INT {
			w.add("constant", n, "("+n.Value+" + 1)")
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			w.add("constant", n, other)
		}
	case *ast.BranchStmt:
		if other := map[token.Token]string{token.CONTINUE: "break", token.BREAK: "continue"}[n.Tok]; other != "" &&
			n.Label == nil {
			w.add("branch", n, other)
		}
	case *ast.ReturnStmt:
		w.forgetError(n)
	case *ast.ExprStmt:
		w.leaveOut(n)
	case *ast.IncDecStmt, *ast.SendStmt, *ast.RangeStmt, *ast.ForStmt:
		w.leaveOut(n.(ast.Stmt))
	case *ast.DeferStmt:
		w.leaveOutDefer(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			w.leaveOut(n)
		}
	}
	return true
}

// isMessage reports whether a call only formats text for users.
func (w *finder) isMessage(c *ast.CallExpr) bool {
	s := types.ExprString(c.Fun)
	return s == "fmt.Errorf" || s == "fmt.Sprintf" || s == "errors.New"
}

// condition negates a condition. An inequality is negated as a comparison. A
// way out at an error is also closed, and the call before it left out.
func (w *finder) condition(n *ast.IfStmt) {
	b, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.EQL && b.Op != token.NEQ {
		w.add("negate", n.Cond, "!("+w.source(n.Cond)+")")
	}
	if k := len(n.Body.List); k > 0 && n.Else == nil {
		if _, leaves := n.Body.List[k-1].(*ast.ReturnStmt); leaves {
			w.add("stay", n.Cond, "false && ("+w.source(n.Cond)+")")
		}
	}
	if a, ok := n.Init.(*ast.AssignStmt); ok && len(a.Rhs) == 1 && w.isError(a.Rhs[0]) {
		w.add("skip", a.Rhs[0], "error(nil)")
	}
}

func (w *finder) binary(n *ast.BinaryExpr) {
	swapped := map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL,
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
		token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
	}
	if op, ok := swapped[n.Op]; ok {
		w.add("operator", n, w.source(n.X)+" "+op.String()+" "+w.source(n.Y))
	}
}

// forgetError returns nil in the place of an error, and leaves out the call
// that gives it.
func (w *finder) forgetError(n *ast.ReturnStmt) {
	for _, r := range n.Results {
		if types.ExprString(r) != "nil" && w.isError(r) {
			w.add("forget", r, "nil")
		}
	}
}

// isError reports whether the only result of an expression is an error.
func (w *finder) isError(e ast.Expr) bool {
	t := w.info.TypeOf(e)
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// leaveOut deletes a statement. It keeps locks, because a test that runs alone cannot detect a missing
// lock.
func (w *finder) leaveOut(n ast.Stmt) {
	if e, ok := n.(*ast.ExprStmt); ok && strings.HasSuffix(types.ExprString(e.X), "ock()") {
		return
	}
	w.add("leave out", n, "")
}
