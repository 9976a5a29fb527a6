// Package front is what the front ends of the language have in common: a
// document as a tree of values that know their places in the text.
//
//	src := front.NewSource("fettle.yaml", text)
//	doc, err := yamlfront.Parse(src)   // *front.Node, *front.Error
//	fmt.Println(doc.Range())           // fettle.yaml:3:1
//
// A front end knows its syntax and nothing of the language: which key is a
// block and which text holds an expression is decided by lang alone, so that
// all forms mean the same.
package front

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
)

// MaxDepth is how deep lists and mappings may nest.
const MaxDepth = 200

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Null    Kind = iota
	Bool         // Text is "true" or "false"
	Number       // Text holds decimal digits as JSON has them
	Text         // a text with templates in it
	Literal      // a text as it is
	Expr         // an expression of the language
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "text", "text", "expression", "list", "mapping"}[k]
}

// Node is one value of a document. Nobody changes it once it is made.
type Node struct {
	Kind Kind
	Text string
	Src  *Source
	// Start and End are bytes of Src.
	Start, End int
	// Places tells where in Src each byte of Text stands, and where it ends:
	// len(Text)+1 numbers. nil when nothing finer than Start is known. It may
	// be slow, and is asked only for texts that are parsed further.
	Places func() []int
	Items  []*Node // of a List
	Pairs  []Pair  // of a Map, in the order of the text; no key comes twice
}

// Pair is a key of a mapping with its value. The key is a Text or a Literal.
type Pair struct{ Key, Value *Node }

// Range is where the node stands.
func (n *Node) Range() diag.Range { return n.Src.Range(n.Start, n.End) }

// Error is a mistake in a document, at a place.
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

// Diagnostic is the mistake for people, with its source line.
func (e *Error) Diagnostic() diag.Diagnostic {
	detail := e.Detail
	if e.Src.origin != nil {
		detail += fmt.Sprintf(" (This is line %d of the rendered text: %s)", e.Src.pos(e.Start).Line, Quote(diag.LineAt(e.Src.Text, e.Src.pos(e.Start).Line)))
	}
	top := e.Src
	for top.origin != nil {
		top = top.origin
	}
	return diag.Errorf(e.Src.Range(e.Start, e.End), e.Summary, "%s", detail).WithLine(top.Text)
}

// Quote is a text in quotes, cut when it is long.
func Quote(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// Unique is a mistake when a key was there before, else nil. keys collects the
// keys of one mapping.
func Unique(keys map[string]*Node, key *Node) *Error {
	if old := keys[key.Text]; old != nil {
		return Errorf(key.Src, key.Start, key.End, "Key twice", "The key %s is at %s already, in the same mapping. Leave one out; where the same block comes twice write a list.", Quote(key.Text), old.Range())
	}
	keys[key.Text] = key
	return nil
}
