package arch

import (
	"go/ast"
	"strings"
	"unicode"
)

// echoes counts doc comments that only repeat the documented name, such as "Size is the size.".
func (p *pkg) echoes() (n int) {
	for _, f := range p.files {
		ast.Inspect(f, func(node ast.Node) bool {
			switch d := node.(type) {
			case *ast.FuncDecl:
				n += echo(d.Doc, funcName(d))
			case *ast.TypeSpec:
				n += echo(d.Doc, d.Name.Name)
			case *ast.GenDecl:
				if len(d.Specs) == 1 {
					if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
						n += echo(d.Doc, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	return n
}

// echo returns 1 if each word of a comment is a part of the name or a filler word, and 0 otherwise.
func echo(doc *ast.CommentGroup, name string) int {
	text := strings.TrimSpace(doc.Text())
	if text == "" {
		return 0
	}
	known := map[string]bool{}
	for _, w := range append(words(name),
		strings.Fields("a an the is are it its of for in to by and returns gives tells whether does makes")...) {
		known[w] = true
	}
	for _, w := range words(text) {
		if !known[w] && !known[strings.TrimSuffix(w, "s")] && !known[w+"s"] {
			return 0
		}
	}
	return 1
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
