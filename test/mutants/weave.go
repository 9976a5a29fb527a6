package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// place is the part of a file that a mutant replaces when many mutants share one build: a statement,
// or the expression around the edit.
type place struct {
	start, end int
	// results is the type of the expression, "" if it has none. A tuple has parentheses.
	results   string
	statement bool
	unknown   bool // no file can name the type
}

// choice is the name of the function that woven files call. It returns true for the chosen mutant.
const choice = "fettleMutant"

// woven is a file with many mutants. Each has a number, and one of them can be chosen at run time.
type woven struct {
	src []byte
	ms  []mutant
	ids map[string]int // by the name of the mutant
}

// text returns the file. No two places may overlap unless one contains the other, as in any syntax tree.
func (w woven) text() []byte {
	ms := slices.Clone(w.ms)
	slices.SortStableFunc(ms, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.place.start, b.place.start), cmp.Compare(b.place.end, a.place.end),
			-boolCompare(a.place.statement, b.place.statement))
	})
	return []byte(w.part(0, len(w.src), ms))
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// part returns the bytes from start to end with the sorted mutants ms.
func (w woven) part(start, end int, ms []mutant) string {
	var out strings.Builder
	for len(ms) > 0 {
		p := ms[0].place
		same := 1
		for same < len(ms) && ms[same].place == p {
			same++
		}
		inner := same
		for inner < len(ms) && ms[inner].place.start < p.end {
			inner++
		}
		out.Write(w.src[start:p.start])
		out.WriteString(w.alternatives(p, ms[:same], w.part(p.start, p.end, ms[same:inner])))
		start, ms = p.end, ms[inner:]
	}
	out.Write(w.src[start:end])
	return out.String()
}

// alternatives returns a statement or an expression that is one of the mutants if it is chosen, and old otherwise.
func (w woven) alternatives(p place, ms []mutant, old string) string {
	var out strings.Builder
	if p.statement {
		for _, m := range ms {
			fmt.Fprintf(&out, "if %s(%d) { %s } else ", choice, w.ids[m.name()], w.changed(m))
		}
		return out.String() + "{ " + old + " }"
	}
	fmt.Fprintf(&out, "func() %s { ", p.results)
	for _, m := range ms {
		if p.results == "" {
			fmt.Fprintf(&out, "if %s(%d) { %s; return }; ", choice, w.ids[m.name()], w.changed(m))
			continue
		}
		fmt.Fprintf(&out, "if %s(%d) { return %s }; ", choice, w.ids[m.name()], w.changed(m))
	}
	if p.results != "" {
		out.WriteString("return ")
	}
	return out.String() + old + " }()"
}

// changed returns the text of the place of a mutant, with its edit.
func (w woven) changed(m mutant) string {
	return string(w.src[m.place.start:m.start]) + m.text + string(w.src[m.end:m.place.end])
}

// resultsOf returns the text of a type in the file of the finder.
func (w *finder) resultsOf(t types.Type) (string, bool) {
	known := true
	qualified := func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		name, ok := w.imports[p.Path()]
		known = known && ok
		return name
	}
	if tuple, ok := t.(*types.Tuple); ok && tuple.Len() == 0 {
		return "", true
	}
	text := types.TypeString(types.Default(t), qualified)
	return text, known && t != types.Typ[types.Invalid] && t != types.Typ[types.UntypedNil]
}

// placeOf returns the place of a statement or an expression.
func (w *finder) placeOf(n ast.Node) place {
	p := place{start: w.fset.Position(n.Pos()).Offset, end: w.fset.Position(n.End()).Offset}
	if _, p.statement = n.(ast.Stmt); p.statement {
		return p
	}
	t := w.info.TypeOf(n.(ast.Expr))
	if t == nil {
		p.unknown = true
		return p
	}
	results, known := w.resultsOf(t)
	p.results, p.unknown = results, !known
	return p
}

// importsOf returns the names of the imports of a file, by path.
func importsOf(p *packages.Package, f *ast.File) map[string]string {
	out := map[string]string{}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if found := p.Imports[path]; found != nil {
			out[path] = found.Name
		}
		if spec.Name != nil {
			out[path] = spec.Name.Name
		}
	}
	return out
}
