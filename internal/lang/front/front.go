// Package front has the common parts of the front ends of the language: a document as a tree of
// values with their places in the text.
//
//	src := front.NewSource("fettle.yaml", text)
//	doc, err := yamlfront.Parse(src)   // *front.Node, *front.Error
//	fmt.Println(doc.Range())           // fettle.yaml:3:1
//
// A front end implements only its syntax. Package lang alone decides which key is a block and which
// text contains an expression, so that all forms have the same meaning.
package front

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
)

// MaxDepth is the maximum depth of nested lists and mappings.
const MaxDepth = 200

// Kind is the type of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null    Kind = iota
	Bool         // Text is "true" or "false"
	Number       // Text holds decimal digits as JSON has them
	Text         // a string that can contain templates
	Literal      // a constant string
	Expr         // an expression of the language
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "string", "expression", "list", "mapping"}[k]
}

// Node is one value of a document. It is read-only after its creation.
type Node struct {
	Kind Kind
	Text string
	Src  *Source
	// Start and End are bytes of Src.
	Start, End int
	// Places returns the position in Src of each byte of Text, and the end of Text: len(Text)+1
	// numbers. It is nil if only Start is known. It can be slow, and is called only for texts that
	// are parsed further.
	Places func() []int
	Items  []*Node // of a List
	Pairs  []Pair  // of a Map, in the order of the text; keys are unique
}

// Pair is a key of a mapping with its value. The key is a Text or a Literal.
type Pair struct{ Key, Value *Node }

// Range returns the place of the node.
func (n *Node) Range() diag.Range { return n.Src.Range(n.Start, n.End) }

// Error is an error in a document, at a place.
type Error struct {
	Src             *Source
	Start, End      int
	Summary, Detail string
}

// Errorf makes an Error about a stretch of a source; the detail is formatted.
func Errorf(src *Source, start, end int, summary, detail string, args ...any) *Error {
	return &Error{Src: src, Start: start, End: end, Summary: summary, Detail: fmt.Sprintf(detail, args...)}
}

func (e *Error) Error() string { return e.Diagnostic().String() }

// Diagnostic returns the error for users, with its source line.
func (e *Error) Diagnostic() diag.Diagnostic {
	detail := e.Detail
	if e.Src.origin != nil {
		detail += fmt.Sprintf(" (This is line %d of the rendered text: %s)", e.Src.pos(e.Start).Line,
			Quote(diag.LineAt(e.Src.Text, e.Src.pos(e.Start).Line)))
	}
	top := e.Src
	for top.origin != nil {
		top = top.origin
	}
	return diag.Errorf(e.Src.Range(e.Start, e.End), e.Summary, "%s", detail).WithLine(top.Text)
}

// Quote returns a text in quotes, shortened if it is long.
func Quote(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Unique returns an error if the key already exists in keys, otherwise nil. keys collects the keys
// of one mapping.
func Unique(keys map[string]*Node, key *Node) *Error {
	if old := keys[key.Text]; old != nil {
		return Errorf(key.Src, key.Start, key.End, "Key twice",
			"The key %s is already at %s in the same mapping. Remove one of the two. If the mapping needs the same block twice, "+
				"write a list of mappings.", Quote(key.Text), old.Range())
	}
	keys[key.Text] = key
	return nil
}
