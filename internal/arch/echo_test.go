package arch

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode"
)

// echoes counts doc comments that only repeat the documented name, such as "Size is the size.".
func (p *pkg) echoes() (places []string) {
	add := func(doc *ast.CommentGroup, name string) {
		if echo(doc, name) {
			places = append(places, fmt.Sprintf("\n%s:%d", p.file(doc.Pos()), p.fset.Position(doc.Pos()).Line))
		}
	}
	for _, f := range p.files {
		ast.Inspect(f, func(node ast.Node) bool {
			switch d := node.(type) {
			case *ast.FuncDecl:
				add(d.Doc, funcName(d))
			case *ast.TypeSpec:
				add(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if len(d.Specs) == 1 {
					if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
						add(d.Doc, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return places
}

// echo reports whether each word of a comment is a part of the name or a filler word.
func echo(doc *ast.CommentGroup, name string) bool {
	text := strings.TrimSpace(doc.Text())
	if text == "" {
		return false
	}
	known := map[string]bool{}
	for _, w := range append(words(name),
		strings.Fields("a an the is are it its of for in to by and returns gives tells whether does makes")...) {
		known[w] = true
	}
	for _, w := range words(text) {
		if !known[w] && !known[strings.TrimSuffix(w, "s")] && !known[w+"s"] {
			return false
		}
	}
	return true
}

// words splits a text at spaces and signs, and identifiers at their capitals. All words are in lower
// case.
func words(text string) []string {
	var out []string
	var now []rune
	end := func() {
		if len(now) > 0 {
			out = append(out, strings.ToLower(string(now)))
		}
		now = now[:0]
	}
	previous := ' '
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || unicode.IsUpper(r) && unicode.IsLower(previous) {
			end()
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			now = append(now, r)
		}
		previous = r
	}
	end()
	return out
}
