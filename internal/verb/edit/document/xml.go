package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fettle.dev/fettle/internal/step"
)

// xmlSyntax is XML: an element is a name, an attribute a name after @, and the root element the
// first part of every key. Values are texts. Names keep their prefix. Elements with the same name
// are distinguished by [N].
type xmlSyntax struct{}

// xmlReader reads tags with their places.
type xmlReader struct {
	text string
	d    *xml.Decoder
}

func (xmlSyntax) parse(text string) (*node, error) {
	root := &node{kind: mapping}
	r := &xmlReader{text, xml.NewDecoder(strings.NewReader(text))}
	r.d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("it is not UTF-8")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not UTF-8")
	}
	if strings.TrimSpace(text) == "" {
		root.start, root.end, root.open = len(text), len(text), len(text)
		return root, nil
	}
	for {
		begin := int(r.d.InputOffset())
		t, err := r.d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, shortXML(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if len(root.items) > 0 {
				return nil, errors.New("it has more than one root element")
			}
			if err := r.element(root, t, begin, 0); err != nil {
				return nil, err
			}
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return nil, errors.New("there is text outside of the root element")
			}
		case xml.EndElement:
			return nil, errors.New("a closing tag has no opening tag")
		}
	}
	if len(root.items) == 0 {
		return nil, errors.New("it has no root element")
	}
	return root, nil
}

func shortXML(err error) error {
	var s *xml.SyntaxError
	if errors.As(err, &s) {
		return fmt.Errorf("line %d: %s", s.Line, s.Msg)
	}
	return err
}

func xmlName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// element reads an element whose tag begins at a place into the one around it.
// Its attributes, its text and its elements are its items.
func (r *xmlReader) element(in *node, t xml.StartElement, begin, depth int) error {
	if depth > maxDepth {
		return errors.New("elements are nested too deeply")
	}
	end := int(r.d.InputOffset())
	n := &node{kind: mapping, start: begin, open: end, xml: true}
	at := len(in.items)
	in.items = append(in.items, item{key: xmlName(t.Name), start: begin, value: n})
	if err := r.attributes(n, t, begin, end); err != nil {
		return err
	}
	selfClosing := strings.HasSuffix(r.text[begin:end], "/>")
	var text strings.Builder
	children := false
	for {
		from := int(r.d.InputOffset())
		t, err := r.d.RawToken()
		if err != nil {
			return shortXML(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			children = true
			if err := r.element(n, t, from, depth+1); err != nil {
				return err
			}
		case xml.CharData:
			text.Write(t)
		case xml.Comment, xml.ProcInst, xml.Directive:
			text.WriteByte('\x00') // which no text holds: it is more than a text
		case xml.EndElement:
			if xmlName(t.Name) != in.items[at].key {
				return fmt.Errorf("the element %s has the closing tag %s", in.items[at].key, xmlName(t.Name))
			}
			n.end = int(r.d.InputOffset())
			in.items[at].end = n.end
			content := item{key: "#text", start: n.open, end: from,
				value: &node{kind: scalar, start: n.open, end: from, scalar: text.String()}}
			switch {
			case selfClosing:
				content.key = "#none"
			case children || strings.ContainsRune(text.String(), 0):
				content.key = "#mixed"
				content.value.scalar = strings.TrimSpace(strings.ReplaceAll(text.String(), "\x00", ""))
			}
			n.items = append(n.items, content)
			return nil
		}
	}
}

// attributes finds the places of a tag's attribute values.
func (r *xmlReader) attributes(n *node, t xml.StartElement, begin, end int) error {
	at := begin + 1
	for _, a := range t.Attr {
		name := xmlName(a.Name)
		for { // the name as a word of its own, outside of quotes
			at += len(r.text[at:end]) - len(strings.TrimLeft(r.text[at:end], " \t\r\n"))
			if rest, ok := strings.CutPrefix(r.text[at:end], name); ok &&
				strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "=") {
				break
			}
			stop := strings.IndexAny(r.text[at:end], " \t\r\n")
			if stop < 0 {
				return fmt.Errorf("the attribute %s is not in the text of its element", name)
			}
			at += stop
		}
		start := at
		at += strings.IndexByte(r.text[at:end], '=') + 1
		at += len(r.text[at:end]) - len(strings.TrimLeft(r.text[at:end], " \t\r\n"))
		if at >= end || r.text[at] != '"' && r.text[at] != '\'' {
			return fmt.Errorf("the attribute %s has no quotes", name)
		}
		close := strings.IndexByte(r.text[at+1:end], r.text[at])
		if close < 0 {
			return fmt.Errorf("the attribute %s has no closing quote", name)
		}
		v := &node{kind: scalar, start: at + 1, end: at + 1 + close, scalar: a.Value, flow: true}
		at = v.end + 1
		n.items = append(n.items, item{key: "@" + name, start: start, end: at, value: v})
	}
	return nil
}

func (xmlSyntax) canonical(value string) (string, error) {
	if strings.ContainsFunc(value, func(c rune) bool {
		return c < 0x20 && c != '\t' && c != '\n' ||
			c == utf8.RuneError
	}) {
		return "", errors.New("its value has characters that XML cannot represent")
	}
	return value, nil
}

func (xmlSyntax) write(canonical string, _ *node) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;", "\t", "&#9;", "\n",
		"&#10;").Replace(canonical)
}

func (s xmlSyntax) insert(text string, root *node, trail []hop, key []step.KeyPart, source string) (string, error) {
	rest := names(key[len(trail):])
	for _, p := range key[len(trail):] {
		if p.Entry >= 0 {
			return "", errors.New("there are fewer elements with this name; write the missing elements by hand")
		}
	}
	if len(trail) == 0 {
		if strings.TrimSpace(text) != "" {
			return "", fmt.Errorf("the root element is %s", root.items[0].key)
		}
		return text + xmlMade(rest, source, "\n") + "\n", nil
	}
	e := trail[len(trail)-1].item().value
	if e.kind != mapping {
		return "", errNotHere
	}
	last := e.items[len(e.items)-1]
	if rest[0] == "#text" && last.key != "#none" {
		return "", errors.New("the element contains other elements; name one of them")
	}
	if rest[0] == "#text" {
		return text[:e.open-len("/>")] + ">" + source + "</" + trail[len(trail)-1].item().key + ">" + text[e.end:], nil
	}
	if strings.HasPrefix(rest[0], "@") {
		tagEnd := e.open - len(">")
		if text[tagEnd-1] == '/' {
			tagEnd--
		}
		tagEnd -= len(blanksBefore(text, tagEnd))
		return text[:tagEnd] + " " + rest[0][1:] + `="` + source + `"` + text[tagEnd:], nil
	}
	nl := "\n" + indentOf(text, e.start)
	made := xmlMade(rest, source, nl+"  ")
	switch {
	case last.key == "#none": // <a/> opens
		return text[:e.open-len("/>")] + ">" + nl + "  " + made + nl + "</" + trail[len(trail)-1].item().key + ">" +
			text[e.end:], nil
	case last.key == "#text" && last.value.scalar == "":
		return text[:e.open] + nl + "  " + made + nl + text[e.open:], nil
	case last.key == "#text" && strings.TrimSpace(last.value.scalar) != "":
		return "", errors.New("the element contains text, so fettle cannot add an element to it")
	}
	if before, ok := lastElement(e); ok {
		sep := blanksBefore(text, before.start)
		return text[:before.end] + sep + xmlMade(rest, source, sep) + text[before.end:], nil
	}
	sep := blanksBefore(text, last.end)
	return text[:last.end-len(sep)] + nl + "  " + made + text[last.end-len(sep):], nil
}

func lastElement(e *node) (item, bool) {
	for i := len(e.items) - 1; i >= 0; i-- {
		if k := e.items[i].key; k[0] != '#' && k[0] != '@' {
			return e.items[i], true
		}
	}
	return item{}, false
}

// xmlMade returns an element with its value, or with the descendant that contains it. nl is the
// line break and indentation before it.
func xmlMade(names []string, source, nl string) string {
	name := names[0]
	switch {
	case len(names) == 1, names[1] == "#text":
		return "<" + name + ">" + source + "</" + name + ">"
	case strings.HasPrefix(names[1], "@"):
		return "<" + name + " " + names[1][1:] + `="` + source + `"/>`
	case !strings.Contains(nl, "\n"):
		return "<" + name + ">" + xmlMade(names[1:], source, nl) + "</" + name + ">"
	}
	return "<" + name + ">" + nl + "  " + xmlMade(names[1:], source, nl+"  ") + nl + "</" + name + ">"
}

func (xmlSyntax) cuts(text string, _ *node, at hop) []cut {
	it := at.item()
	if it.key[0] == '@' {
		return []cut{{it.start - len(blanksBefore(text, it.start)), it.end, ""}}
	}
	if it.key == "#text" { // it replaced <a/>
		return []cut{{at.in.open - 1, at.in.end, "/>"}}
	}
	e := at.in
	lead := len(blanksBefore(text, it.start))
	ways := []cut{{it.start - lead, it.end, ""}, {it.start, it.end, ""}}
	nl := "\n" + indentOf(text, e.start)
	if e.open > 0 {
		ways = append(ways, cut{e.open, it.end + len(nl), ""}, cut{e.open - 1, e.end, "/>"})
	}
	return ways
}
