package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// checkForm: a package says what it is, nothing happens when it is imported,
// and nothing in it changes behind its callers' backs.
func checkForm(pkgs []*pkg) []string {
	var broken []string
	for _, p := range pkgs {
		broken = append(broken, p.comment()...)
		for _, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					broken = append(broken, p.file(fn.Pos())+" has an init function: build what it makes where it is used")
				}
			}
			broken = append(broken, p.changes(f)...)
			broken = append(broken, p.undocumented(f)...)
			broken = append(broken, p.starts(f)...)
		}
		broken = append(broken, p.name()...)
	}
	return broken
}

// starts tells of regular expressions that every start of a program would make, whether or
// not it needs them.
func (p *pkg) starts(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for _, value := range v.Values {
				if fn, ok := p.info.Uses[called(value)].(*types.Func); ok && fn.FullName() == "regexp.MustCompile" {
					out = append(out, p.file(value.Pos())+" makes a regular expression at every start: put sync.OnceValue around it")
				}
			}
		}
	}
	return out
}

// called is the name of what a call of another package calls; nil for anything else.
func called(e ast.Expr) *ast.Ident {
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			return sel.Sel
		}
	}
	return nil
}

// comment tells what the package comment lacks.
func (p *pkg) comment() []string {
	var text string
	for _, f := range p.files {
		text += f.Doc.Text()
	}
	name := p.files[0].Name.Name
	first := "Package " + name + " "
	if name == "main" {
		first = "Command " + p.path[strings.LastIndex(p.path, "/")+1:] + " "
	}
	if !strings.HasPrefix(text, first) {
		return []string{fmt.Sprintf("%s: the package comment does not begin with %q", p.path, first)}
	}
	if !strings.Contains(text, "\n\t") {
		return []string{p.path + ": the package comment shows no example of use"}
	}
	return nil
}

// undocumented tells which exported names of a file have no comment. A group of
// constants or variables may share one.
func (p *pkg) undocumented(f *ast.File) []string {
	var out []string
	miss := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g.Text() != "" }) {
			out = append(out, fmt.Sprintf("%s: the exported name %s has no comment", p.file(name.Pos()), name.Name))
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiverExported(d) {
				miss(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					miss(spec.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						miss(n, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return out
}

// receiverExported tells whether a function can be seen from outside and says
// more than an interface of the standard library does.
func receiverExported(d *ast.FuncDecl) bool {
	owner, method, ok := strings.Cut(funcName(d), ".")
	plain := []string{"String", "Error", "Unwrap", "Is", "Len", "Less", "Swap", "MarshalJSON", "UnmarshalJSON"}
	return !ok || ast.IsExported(owner) && !slices.Contains(plain, method)
}

// name tells of directories that are named after nothing.
func (p *pkg) name() []string {
	empty := []string{"util", "utils", "common", "helper", "helpers", "base", "model", "models", "manager", "misc",
		"lib", "types"}
	if last := p.path[strings.LastIndex(p.path, "/")+1:]; slices.Contains(empty, last) {
		return []string{p.path + ": a directory is a stage or a noun of the glossary, and " + last + " is neither"}
	}
	return nil
}

// changes tells where a file changes a package variable of its own package.
func (p *pkg) changes(f *ast.File) []string {
	var out []string
	note := func(e ast.Expr, how string) {
		if v := p.rootVar(e); v != nil {
			out = append(out, fmt.Sprintf("%s %s the package variable %s: pass it, or put it into a struct", p.file(e.Pos()),
				how, v.Name()))
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				note(l, "assigns to")
			}
		case *ast.IncDecStmt:
			note(n.X, "counts in")
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X, "takes the address of")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
				note(n.Args[0], "removes from")
			}
		case *ast.SelectorExpr:
			if s := p.info.Selections[n]; s != nil && byPointer(s) {
				note(n.X, "calls a method that may change")
			}
		}
		return true
	})
	return out
}

// byPointer tells whether a method call takes the address of its receiver.
func byPointer(s *types.Selection) bool {
	fn, ok := s.Obj().(*types.Func)
	if !ok || s.Kind() != types.MethodVal {
		return false
	}
	_, wants := fn.Signature().Recv().Type().(*types.Pointer)
	_, has := s.Recv().(*types.Pointer)
	return wants && !has
}

// rootVar is the variable of this package's own scope that an expression is a
// part of, nil for any other.
func (p *pkg) rootVar(e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			v, ok := p.info.Uses[x].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				return v
			}
			return nil
		default:
			return nil
		}
	}
}
