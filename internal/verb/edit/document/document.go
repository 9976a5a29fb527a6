// Package document changes one value of a JSON, YAML, TOML, INI or XML file and leaves every other
// byte unchanged: comments, order, blanks. It is pure.
//
//	d := document.For("json")
//	key, _ := step.SplitKey("log.level")
//	found, err := d.Find(text, key, false)            // what is there
//	want, err := d.Canonical(`"warn"`)                // what it is compared as
//	after, err := d.Put(text, key, false, image.Region{Present: true, Text: want})
//	before, err := d.Put(after, key, false, found)    // byte for byte text
//
// Every result is parsed again before it is returned: a change that would break the file, or affect
// another value, is an error. A format is a syntax. It parses a text into nodes with their places
// and writes values. It also determines the place of a new value, and the bytes to remove with an
// old value.
package document

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// Document is one format. The zero value is none; see For.
type Document struct {
	name string
	syntax
}

// Formats are the names of all formats.
func Formats() []string { return []string{"json", "yaml", "toml", "ini", "xml"} }

// For returns a format by its name. The second result is false for an unknown name.
func For(name string) (Document, bool) {
	all := map[string]syntax{"json": jsonSyntax{}, "yaml": yamlSyntax{}, "toml": tomlSyntax{}, "ini": iniSyntax{},
		"xml": xmlSyntax{}}
	s, ok := all[name]
	return Document{name, s}, ok
}

// syntax is the implementation of a format.
type syntax interface {
	// parse reads a text; an empty one is an empty mapping.
	parse(text string) (*node, error)
	// canonical returns the form of a value for comparison.
	canonical(value string) (string, error)
	// write returns a canonical value as source, to replace n; n is nil for a new value.
	write(canonical string, n *node) string
	// insert adds a value, as source, at a missing key[depth] with the parts after it; trail leads
	// to its parent.
	insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error)
	// cuts returns the ways to remove an item, the best first.
	cuts(text string, root *node, at hop) []cut
}

// node is a value in a text.
type node struct {
	start, end int // its bytes
	kind       byte
	scalar     string // canonical, of a scalar
	items      []item
	open       int  // where the first item of a mapping or list can begin
	flow       bool // in brackets
	lead       bool // the bytes begin with the separator after its key
	empty      bool // a null that is written as nothing
	behind     int  // place after which it begins, with comments before its first item; 0 if equal to start
	indent     int  // of the items' lines, in bytes
	section    *section
	xml        bool     // an element
	implicit   bool     // a mapping that exists only through its content
	names      []string // of a mapping that dotted keys make: the part before the rest
}

// Kinds of nodes.
const (
	scalar   = 's'
	mapping  = 'm'
	sequence = 'l'
)

// item is one entry of a mapping or list.
type item struct {
	key        string
	start, end int // from the key's first byte to the value's last
	value      *node
}

// hop is an item on the way to a value.
type hop struct {
	in *node
	at int
}

func (h hop) item() item { return h.in.items[h.at] }

// cut replaces bytes by with.
type cut struct {
	start, end int
	with       string
}

func (c cut) of(text string) string { return text[:c.start] + c.with + text[c.end:] }

// Canonical returns the form of a value for comparison; the error explains why the value is
// invalid.
func (d Document) Canonical(value string) (string, error) { return d.canonical(value) }

// Find looks up a value. absent means that it will be removed, so that the data to restore it is
// recorded. The error means that the text cannot be read, or the key cannot be followed.
func (d Document) Find(text string, key []step.KeyPart, absent bool) (image.Region, error) {
	key = d.full(key)
	root, err := d.read(text)
	if err != nil {
		return image.Region{}, err
	}
	trail, err := walk(root, key, absent)
	if err != nil {
		return image.Region{}, err
	}
	if len(trail) < len(key) {
		return image.Region{Source: &image.Source{Depth: len(trail), Text: bare(text, root, trail, key)}}, nil
	}
	last := trail[len(trail)-1]
	v := last.item().value
	r := image.Region{Present: true, Text: canon(v), Line: 1 + strings.Count(text[:last.item().start], "\n"),
		Source: &image.Source{Text: text[v.start:v.end], Depth: len(key)}}
	if absent {
		r.Source.Cut = d.noted(text, root, trail, key)
	}
	return r, nil
}

// bare returns the source of an empty mapping: several forms become equal after an insertion. A key
// without a value is a colon.
func bare(text string, root *node, trail []hop, key []step.KeyPart) string {
	const most = 1 << 10
	in := root
	if len(trail) > 0 {
		in = trail[len(trail)-1].item().value
	}
	if at, err := pick(in, key[:len(trail)+1]); err == nil && at >= 0 {
		return ":"
	}
	if in.section != nil { // of tables that others make too, whether it has a header
		return text[in.section.header:in.section.end]
	}
	if slices.ContainsFunc(in.items, func(it item) bool { return it.value.kind != scalar || !in.xml }) ||
		in.end-in.start > most {
		return ""
	}
	return text[in.start:in.end]
}

// full is a key as XML has it: the text of an element is in it, and a name with a
// number is one part.
func (d Document) full(key []step.KeyPart) []step.KeyPart {
	if d.name != "xml" {
		return key
	}
	var out []step.KeyPart
	for _, p := range key {
		if n := len(out); p.Entry >= 0 && n > 0 && out[n-1].Entry < 0 {
			out[n-1].Entry = p.Entry
			continue
		}
		out = append(out, p)
	}
	if !strings.HasPrefix(out[len(out)-1].Name, "@") {
		out = append(out, step.KeyPart{Name: "#text", Entry: -1})
	}
	return out
}

// owner returns the index of the hop to remove with a value: the element of a text.
func (d Document) owner(trail []hop) int {
	if n := len(trail) - 1; d.name != "xml" || trail[n].item().key != "#text" {
		return n
	}
	return len(trail) - 2
}

func (d Document) read(text string) (*node, error) {
	root, err := d.parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid %s: %w; correct it by hand first", strings.ToUpper(d.name), err)
	}
	return root, nil
}

// walk follows a key as far as possible. A null without source text counts as missing if a value
// will be inserted into it.
func walk(root *node, key []step.KeyPart, absent bool) (trail []hop, err error) {
	for n, i := root, 0; i < len(key); i++ {
		want := byte(mapping)
		if key[i].Entry >= 0 && key[i].Name == "" {
			want = sequence
		}
		switch {
		case n.kind == want:
		case n.empty && want == mapping:
			return trail[:len(trail)-1], nil
		case absent:
			return trail, nil
		default:
			return nil, fmt.Errorf("%s is %s and not %s, so it has no %s; change it by hand, or name another key",
				place(key[:i]), kindName(n.kind), kindName(want), step.JoinKey(key[i:i+1]))
		}
		at, err := pick(n, key[:i+1])
		if err != nil {
			return nil, err
		}
		if at < 0 {
			if want == sequence && !absent {
				return nil, fmt.Errorf("%s has %d entries, and %s is beyond its end; write the whole list", place(key[:i]),
					len(n.items), step.JoinKey(key[i:i+1]))
			}
			return trail, nil
		}
		trail = append(trail, hop{n, at})
		n = n.items[at].value
	}
	return trail, nil
}

// pick is the index of the last part of a key in a node, -1 when it is not there.
func pick(n *node, key []step.KeyPart) (int, error) {
	last := key[len(key)-1]
	if last.Entry >= 0 && last.Name != "" { // one of several of a name
		at, left := -1, last.Entry
		for i, it := range n.items {
			if it.key == last.Name {
				if left == 0 {
					at = i
				}
				left--
			}
		}
		return at, nil
	}
	if last.Entry >= 0 {
		if last.Entry < len(n.items) {
			return last.Entry, nil
		}
		return -1, nil
	}
	at := slices.IndexFunc(n.items, func(it item) bool { return it.key == last.Name })
	if at >= 0 && slices.ContainsFunc(n.items[at+1:], func(it item) bool { return it.key == last.Name }) {
		return 0, fmt.Errorf("the file contains %s more than once; keep only one", step.JoinKey(key))
	}
	return at, nil
}

// place is a key for messages.
func place(key []step.KeyPart) string {
	if len(key) == 0 {
		return "the whole file"
	}
	return step.JoinKey(key)
}

func kindName(k byte) string {
	return map[byte]string{scalar: "a plain value", mapping: "a mapping", sequence: "a list"}[k]
}
